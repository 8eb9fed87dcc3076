"""What is new: what became of the rows of all datasets of an owner between two moments, net.

It is that of `dataset diff`. With bounds it takes so much work at most, however long the time is:
of a dataset with more changes the rows that changed last are looked at, and it says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.notice_events import net_changes
from livedata.messages.run_end import without_advice
from livedata.model.dataset import Dataset, RunStatus
from livedata.model.ids import (
    DatasetId,
    Micros,
    OwnerName,
    RowId,
    format_timestamp,
    format_uuid,
    raw_id,
)
from livedata.model.row import RowFilter
from livedata.services.moments import NamedDiff, RowDiff, row_diffs
from livedata.services.notices.gathering import KINDS, shares
from livedata.store import datasets, feed, moments, shown_rows, shown_runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.shown_runs import NotAccepted

OF_A_NEW_TABLE: Final = 4
"""Of a table that is new as a whole so many rows are told: who wants them opens it."""
COUNTED: Final = 1_000
"""So many datasets that follow are counted."""

_PRESENT: Final = ("new", "changed", "unchanged")


class Period(Struct, frozen=True):
    """A time of which is told: `until` is now without one. Before `seen` all was seen already."""

    since: Micros
    until: Micros | None = None
    seen: Micros | None = None

    def has(self, moment: Micros) -> bool:
        """Whether a moment is in it."""
        return self.since <= moment and (self.until is None or moment < self.until)


class Bounds(Struct, frozen=True):
    """How much is looked at, and how much of it is told: of all datasets, and of each."""

    datasets: int
    revisions: int
    rows: int
    rows_of_each: int


class Trouble(Struct, frozen=True, omit_defaults=True):
    """A Run that is the last one of its dataset and was not accepted, and its sentence.

    `newer` is the Run that is queued or running since then, if there is one.
    """

    run: str
    status: RunStatus
    at: str
    sentence: str | None
    newer: str | None = None

    @property
    def brief(self) -> str:
        """Its sentence without what it advises, where what can be done stands beside it."""
        return without_advice(self.sentence or "")


class Troubled(Struct, frozen=True):
    """A dataset, by its id and name, whose last Run was not accepted."""

    dataset: str
    name: str
    trouble: Trouble


class RowNews(Struct, frozen=True):
    """What became of a row, and what it is called."""

    named: NamedDiff
    is_unseen: bool

    @property
    def row(self) -> str:
        """The id of the row."""
        return format_uuid(self.named.row)

    @property
    def difference(self) -> RowDiff:
        """What became of it, for programs."""
        return self.named.diff


class DatasetNews(Struct, frozen=True):
    """What became of the rows of a dataset, how many of each kind, and the first of each kind.

    Without `is_exact` there are more of them than `counts` says. `trouble` is None if its last Run
    was accepted. `after` is 0 if the first Run that was accepted is among what is told.
    """

    dataset: Dataset
    trouble: Trouble | None
    after: int
    through: int
    counts: Mapping[str, int]
    is_exact: bool
    rows: Sequence[RowNews]

    @property
    def more(self) -> int:
        """How many rows were counted, and are not told."""
        return sum(self.counts.values()) - len(self.rows)

    @property
    def is_new_table(self) -> bool:
        """Whether all of many rows are new, since its first Run is among what is told."""
        number = sum(self.counts.values())
        return self.after == 0 and OF_A_NEW_TABLE < number == self.counts["new"]

    @property
    def sentence(self) -> str | None:
        """How many rows of each kind, in words; None for none."""
        return net_changes(self.dataset["name"], self.counts, ()) if self._has_rows else None

    @property
    def _has_rows(self) -> bool:
        return any(self.counts.values())

    @property
    def as_json(self) -> dict[str, Any]:
        """The dataset as a digest has it, with the Run that was not accepted."""
        return {
            "dataset": {"id": self.dataset["id"], "name": self.dataset["name"]},
            "sentence": self.sentence,
            "trouble": self.trouble,
            "after": self.after,
            "through": self.through,
            "rowDeltas": self.counts,
            "isExact": self.is_exact,
            "changes": [each.difference for each in self.rows],
            "moreChanges": self.more,
        }


class NewsPage(Struct, frozen=True):
    """What is new of some datasets, how many were passed over up to there, and how many follow."""

    datasets: Sequence[DatasetNews]
    passed: int
    following: int

    @property
    def may_be_more(self) -> bool:
        """Whether not all that follow were counted."""
        return self.following == COUNTED


class _Window(Struct, frozen=True):
    """The revisions of a dataset that a period has."""

    dataset: DatasetRef
    first: int
    last: int
    seen: int
    """The last one that was seen; what was seen before the period is not told."""

    @property
    def length(self) -> int:
        return max(0, self.last - self.first)

    @property
    def is_whole_table(self) -> bool:
        return 0 == self.first < self.last == self.dataset.head


def news(
    db: Database,
    owner: OwnerName,
    period: Period,
    bounds: Bounds,
    passed: int = 0,
    *,
    rows_alone: bool = False,
) -> NewsPage:
    """What is new of an owner, within bounds, behind so many datasets that were told before.

    Those whose last Run was not accepted come first, then what changed last; those without changes
    are left out, unless such a Run ended in that time. With `rows_alone` what changed last comes
    first, and all without changes are left out.
    """
    with db.reading() as reader:
        most = passed + bounds.datasets + COUNTED
        news_reader = _NewsReader(reader, owner, period, most)
        listed = (news_reader.changed if rows_alone else news_reader.datasets)[passed:]
        windows = news_reader.windows(listed[: bounds.datasets])
        # A dataset of which much changed leaves the others their share of the work.
        looked_at = shares([window.length for window in windows], bounds.revisions)
        every = [
            news_reader.news(window, most, bounds.rows_of_each)
            for window, most in zip(windows, looked_at, strict=True)
        ]
        told = [each for each in every if each is not None and (each.rows or not rows_alone)]
        # And of the place: what is not shown of one is counted.
        shown = shares([min(len(each.rows), bounds.rows_of_each) for each in told], bounds.rows)
        cut = [_cut(each, most) for each, most in zip(told, shown, strict=True)]
        following = len(listed) - len(windows)
        return NewsPage(cut, passed + len(windows), min(following, COUNTED))


def troubled(db: Database, owner: OwnerName) -> list[Troubled]:
    """The datasets of an owner whose last Run was not accepted, what ended last before others."""
    with db.reading() as reader:
        refused = shown_runs.not_accepted(reader, owner)
    ended = sorted(refused.items(), key=lambda item: item[1].at, reverse=True)
    return [Troubled(format_uuid(key), run.name, _trouble(run)) for key, run in ended]


def trouble_of(db: Database, owner: OwnerName, dataset: DatasetId) -> Trouble | None:
    """The last Run of a dataset that is over, if it was not accepted."""
    with db.reading() as reader:
        return read_trouble(reader, owner, dataset)


def read_trouble(reader: Reader, owner: OwnerName, dataset: DatasetId) -> Trouble | None:
    """The same within a transaction."""
    refusal = shown_runs.not_accepted(reader, owner, dataset).get(dataset)
    return None if refusal is None else _trouble(refusal)


def every_news(db: Database, owner: OwnerName, period: Period) -> Iterator[DatasetNews]:
    """All that is new of an owner, dataset by dataset, while the read transaction lasts."""
    with db.reading() as reader:
        news_reader = _NewsReader(reader, owner, period)
        for each in news_reader.datasets:
            (window,) = news_reader.windows([each])
            told = news_reader.news(window)
            if told is not None:
                yield told


class _NewsReader:
    """Reads what is new of the datasets of an owner in a period, one by one."""

    def __init__(
        self, reader: Reader, owner: OwnerName, period: Period, most: int | None = None
    ) -> None:
        self._reader, self._owner, self._period, self._most = reader, owner, period, most
        # Of all datasets at once: to ask for each would be a question for each.
        self._refused = shown_runs.not_accepted(reader, owner)

    @property
    def changed(self) -> list[DatasetId]:
        """Those whose rows may have changed, what changed last first."""
        return datasets.updated_since(self._reader, self._owner, self._period.since, self._most)

    @property
    def datasets(self) -> list[DatasetId]:
        """Those that may have news: in trouble first, and what changed last before the others."""
        fresh = [key for key, refusal in self._refused.items() if self._period.has(refusal.at)]
        listed = dict.fromkeys([*self.changed, *fresh])
        return sorted(listed, key=lambda key: key not in self._refused)

    def windows(self, keys: Sequence[DatasetId]) -> list[_Window]:
        """The revisions of these datasets in the period."""
        refs = datasets.refs(self._reader, self._owner, keys) if keys else {}
        heads = {key: refs[key].head for key in keys}
        first = feed.last_before_of(self._reader, heads, self._period.since)
        until, last = self._period.until, heads
        if until is not None:
            last = feed.last_before_of(self._reader, heads, until)
        # Of all datasets together, as the ends are: a search of its own has twenty looks.
        seen = first
        if self._period.seen is not None:
            seen = feed.last_before_of(self._reader, heads, self._period.seen)
        return [_Window(refs[key], first[key], last[key], seen[key]) for key in keys]

    def news(
        self, window: _Window, looked_at: int | None = None, most: int | None = None
    ) -> DatasetNews | None:
        """What became of a dataset, by its last `looked_at` revisions; None if nothing is to tell.

        Of each kind the first `most` rows are there, and all are counted.
        """
        is_exact = looked_at is None or window.length <= looked_at
        shown = datasets.get(self._reader, self._owner, window.dataset.id)
        is_whole = looked_at is not None and window.is_whole_table
        if is_whole and shown["rowCount"] > OF_A_NEW_TABLE:
            # All rows that there are came in this time: none has to be read to count them.
            counts = {kind: shown["rowCount"] if kind == "new" else 0 for kind in map(str, KINDS)}
            is_exact, differences = True, self._first_rows(window)
        else:
            counts, differences = self._differences(window, looked_at, most)
        refusal = self._refused.get(window.dataset.id)
        is_fresh = refusal is not None and self._period.has(refusal.at)
        if is_exact and not any(counts.values()) and not is_fresh:
            return None
        unseen = self._unseen(window, [each.row for each in differences])
        return DatasetNews(
            shown,
            None if refusal is None else _trouble(refusal),
            window.first,
            window.last,
            counts,
            is_exact,
            [RowNews(each, each.row in unseen) for each in differences],
        )

    def _first_rows(self, window: _Window) -> list[NamedDiff]:
        """The first rows of a table that is new as a whole, in its order."""
        dataset, there = window.dataset, RowFilter(statuses=_PRESENT)
        lines, _ = shown_rows.newest_lines(
            self._reader, dataset.id, dataset.fields, there, None, OF_A_NEW_TABLE
        )
        order = [RowId(raw_id(line.id)) for line in lines]
        told = row_diffs(self._reader, dataset, window.first, window.last, order) if order else ()
        return sorted(told, key=lambda each: order.index(each.row))

    def _differences(
        self, window: _Window, looked_at: int | None, most: int | None
    ) -> tuple[dict[str, int], list[NamedDiff]]:
        first, last, dataset = window.first, window.last, window.dataset
        counts: dict[str, int] = dict.fromkeys(KINDS, 0)
        if first >= last:
            return counts, []
        rows = None
        if looked_at is not None:
            rows = moments.touched(self._reader, dataset.id, first, last, looked_at)
        by_kind: dict[str, list[NamedDiff]] = {kind: [] for kind in KINDS}
        for each in row_diffs(self._reader, dataset, first, last, rows):
            kind = each.diff["kind"]
            counts[kind] += 1
            if most is None or len(by_kind[kind]) < most:
                by_kind[kind].append(each)
        return counts, [told for part in by_kind.values() for told in part]

    def _unseen(self, window: _Window, rows: Collection[RowId]) -> Collection[RowId]:
        """Those of these rows that changed after all was seen."""
        if self._period.seen is None or not rows:
            return ()
        first = max(window.first, window.seen)
        return moments.touched_of(self._reader, rows, first, window.last)


def _trouble(refusal: NotAccepted) -> Trouble:
    told = (refusal.run, refusal.status, format_timestamp(refusal.at), refusal.error)
    return Trouble(*told, None if refusal.newer is None else format_uuid(refusal.newer))


def _cut(told: DatasetNews, most: int) -> DatasetNews:
    """What is told of a dataset, with so many rows of all kinds together."""
    by_kind = {
        kind: [each for each in told.rows if each.difference["kind"] == kind] for kind in KINDS
    }
    shown = shares([len(rows) for rows in by_kind.values()], most)
    parts = [rows[:share] for rows, share in zip(by_kind.values(), shown, strict=True)]
    return replace(told, rows=[each for part in parts for each in part])
