"""What a notice tells of a stretch of history: a digest of a dataset, or if it had been there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from msgspec import Struct

from livedata.messages import notice_events
from livedata.model.errors import Invalid
from livedata.model.ids import Micros, RowId, format_uuid
from livedata.model.row_name import RowName
from livedata.rules.declaration.notices import ChangeFilter
from livedata.services.moments import DiffKind, RowDiff, find_moment, is_time, row_diffs
from livedata.services.notices.told_changes import (
    ChangeRange,
    ChangesByName,
    Funnel,
    MatchedRevision,
    NamedChange,
    described,
    narrowed,
    told_change,
)
from livedata.store import datasets, feed
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.notices import Notice
from livedata.store.outbox import RevisionRange

NetChange = Mapping[str, Any]
"""A row of a `dataset diff`, with `matches` as a message of changes has them."""
NAMES = "names"
"""Where the outbox keeps what the rows of the changes are called."""
_BEGINNING = "0"
"""The sequence before the first change of each dataset."""
KINDS: Sequence[DiffKind] = ("new", "changed", "gone", "back")


class _Told(Struct, frozen=True):
    """The fields of a row that its revisions have changed, and what the last of them meets."""

    fields: Collection[str]
    sentences: Sequence[str]


class Gathered(Struct, frozen=True):
    """The changes of a dataset between two fires: how many of each kind, and the first of them."""

    dataset: DatasetRef
    window: RevisionRange
    rows: Mapping[str, int]
    changes: Sequence[NamedChange]
    clauses: Sequence[str]

    @property
    def sentence(self) -> str:
        """What is said of them."""
        return notice_events.net_changes(self.dataset.name, self.rows, self.clauses)

    def as_json(self, most: int) -> dict[str, Any]:
        """The dataset as a digest has it for programs, with so many changes at most."""
        changes = [change.line for change in self.changes[:most]]
        return {
            "dataset": {"id": format_uuid(self.dataset.id), "name": self.dataset.name},
            "sentence": self.sentence,
            "after": self.window.after,
            "through": self.window.through,
            "rowDeltas": self.rows,
            "changes": changes,
            "moreChanges": sum(self.rows.values()) - len(changes),
        }

    def as_kept(self, most: int) -> dict[str, Any]:
        """The same as the outbox keeps it: with what the rows are called, for people."""
        return {**self.as_json(most), NAMES: [each.name.name for each in self.changes[:most]]}


def gather(
    reader: Reader,
    notice: Notice,
    dataset: DatasetRef,
    after: int,
    most: int | None = None,
    funnel: Funnel | None = None,
) -> Gathered | None:
    """What a notice tells of a dataset after a sequence, net; None for nothing.

    Of the changes the first `most` are there, and all are counted; `funnel` counts as
    `ChangeRange.matches` has it.
    """
    window = RevisionRange(after, dataset.head)
    rows: dict[str, int] = dict.fromkeys(KINDS, 0)
    first: list[NamedChange] = []
    for change in _net(reader, notice, dataset, window, funnel):
        rows[change.line["kind"]] += 1
        if most is None or len(first) < most:
            first.append(change)
    wanted = notice.change_filter or ChangeFilter()
    return Gathered(dataset, window, rows, first, wanted.when) if any(rows.values()) else None


def shares(counts: Sequence[int], most: int) -> list[int]:
    """How many of each are told, of these, so that all together are about `most`.

    Those with few are told whole, and each has one at least.
    """
    parts = [0] * len(counts)
    left = most
    for place, number in enumerate(sorted(range(len(counts)), key=counts.__getitem__)):
        parts[number] = min(counts[number], max(1, left // (len(counts) - place)))
        left = max(0, left - parts[number])
    return parts


def named_changes(part: Mapping[str, Any]) -> Iterator[NamedChange]:
    """The changes of a dataset as the outbox has kept them for a digest."""
    # Older versions have kept no names.
    names = part.get(NAMES) or [change["row"] for change in part["changes"]]
    for change, name in zip(part["changes"], names, strict=True):
        yield NamedChange(change, RowName(name, change["row"]))


def change_line(change: NamedChange) -> str:
    """A change as a line for people: both values, and what it meets."""
    line = change.line
    cells = ", ".join(described(shown_change(line)))
    told = f"- {change.name} {line['kind']}" + (f": {cells}" if cells else "")
    return f"{told}{met_in_a_run(line)}"


def met_in_a_run(change: NetChange) -> str:
    """What of a condition a change has met, behind its cells, where these do not say it."""
    told = {_values_in(cell) for cell in described(shown_change(change))}
    met = ", ".join(each for each in change.get("matches", ()) if _values_in(each) not in told)
    return f" (in a Run {met})" if met else ""


def _values_in(told: str) -> str:
    return told.rpartition(": ")[2]


def shown_change(change: NetChange) -> NetChange:
    """A change as `described` has it: of all but rows that are new with both values."""
    return change if change["kind"] == "new" else {**change, "kind": "updated"}


def _net(
    reader: Reader,
    notice: Notice,
    dataset: DatasetRef,
    window: RevisionRange,
    funnel: Funnel | None,
) -> Iterator[NamedChange]:
    """What became of each row of which the notice tells, in the cells of which it tells."""
    wanted = notice.change_filter or ChangeFilter()
    told = _told(reader, notice, dataset, window, wanted, funnel)
    if not told:
        return
    names = {field: column["name"] for field, column in dataset.fields.columns.items()}
    for each in row_diffs(reader, dataset, window.after, window.through, told):
        difference, of_row = each.diff, told[each.row]
        cells = _cells(difference, of_row, names, wanted)
        # What came and went does not show, though it was told when it came.
        if cells or difference["kind"] != "changed":
            matches = {"matches": [*of_row.sentences]} if wanted.when else {}
            line = {"kind": difference["kind"], "row": difference["row"], "changed": cells}
            # A row of research is called by its name in both.
            name = RowName(each.name.name, difference["row"])
            yield NamedChange(line | matches, name, each.row, wanted.told_of(each.last))


def _told(
    reader: Reader,
    notice: Notice,
    dataset: DatasetRef,
    window: RevisionRange,
    wanted: ChangeFilter,
    funnel: Funnel | None,
) -> Mapping[RowId, _Told]:
    """The rows of which the notice tells, had it told at once: not of hand edits."""
    told: dict[RowId, _Told] = {}
    every = ChangeRange(notice.owner, dataset.id, window)
    for revision, sentences in every.matches(reader, wanted, funnel):
        if revision.run is None:
            continue
        if funnel is not None:
            funnel.met += 1
        earlier, fields = told.get(revision.row), revision.changed
        # Nearly every row has one revision: they share the list of its fields with others.
        if earlier is not None:
            fields = {*earlier.fields, *fields}
        told[revision.row] = _Told(fields, sentences)
    return told


def _cells(
    difference: RowDiff, told: _Told, names: Mapping[str, str], wanted: ChangeFilter
) -> dict[str, Any]:
    columns = {names.get(field) for field in told.fields}
    if wanted.columns:
        columns.intersection_update(wanted.columns)
    return {name: cell for name, cell in difference["changed"].items() if name in columns}


class TriedMessage(NamedTuple):
    """A message that an accepted Run would have caused: when, what it says, its changes, of what.

    The lines of the changes are as ``changes --names`` has them, each with what it meets.
    """

    at: Micros
    sentence: str
    changes: Sequence[NamedChange]
    dataset: DatasetRef


def tried(
    db: Database, notice: Notice, since: str, zone: str, funnel: Funnel | None = None
) -> Iterator[TriedMessage]:
    """The messages about changes after WHEN, by dataset and Run; `funnel` counts what led there.

    Raises Invalid if the notice tells nothing of changes, or `since` is no moment of its datasets.
    """
    with db.reading() as reader:
        for dataset, after in _since(reader, notice, since, zone):
            window = RevisionRange(after, dataset.head)
            yield from _of_dataset(reader, notice, dataset, window, funnel)


def tried_digest(
    db: Database,
    notice: Notice,
    since: str,
    zone: str,
    most: int | None = None,
    funnel: Funnel | None = None,
) -> Iterator[Gathered]:
    """What one digest of all changes after WHEN would tell, by dataset. Raises as `tried`.

    Of the changes of each the first `most` are there, and all are counted.
    """
    with db.reading() as reader:
        for dataset, after in _since(reader, notice, since, zone):
            gathered = gather(reader, notice, dataset, after, most, funnel)
            if gathered is not None:
                yield gathered


def changes_since(
    db: Database, notice: Notice, since: str, zone: str
) -> list[tuple[DatasetRef, int]]:
    """Each dataset of a notice with how many changes it has after WHEN, hand edits too.

    Raises as `tried`.
    """
    with db.reading() as reader:
        every = _since(reader, notice, since, zone)
        return [(dataset, dataset.head - after) for dataset, after in every]


def _since(
    reader: Reader, notice: Notice, since: str, zone: str
) -> Iterator[tuple[DatasetRef, int]]:
    """Every dataset of a notice, with the sequence at which WHEN lies in its history."""
    if "changes" not in notice.kinds:
        raise Invalid(f"The notice {notice.name} tells nothing of changes.")
    every = [*datasets.chosen(reader, notice.owner, notice.datasets)]
    if len(every) > 1 and since != _BEGINNING and not is_time(since, zone):
        raise Invalid(
            f"The notice {notice.name} tells of {len(every)} datasets, and {since[:60]!r} is no "
            "moment for all of them: write a date and time with its zone (2026-03-01T08:00:00Z), "
            f"a day (2026-03-01), or {_BEGINNING} for all that ever changed."
        )
    for dataset in every:
        yield dataset, find_moment(reader, dataset, since, zone).sequence


def _of_dataset(
    reader: Reader,
    notice: Notice,
    dataset: DatasetRef,
    window: RevisionRange,
    funnel: Funnel | None,
) -> Iterator[TriedMessage]:
    wanted, name = notice.change_filter or ChangeFilter(), dataset.name
    columns = dataset.fields.columns
    matches = ChangeRange(notice.owner, dataset.id, window).matches(reader, wanted, funnel)
    # A notice is told at the end of Runs: of hand edits, and of what an archive brought, never.
    of_runs = (match for match in matches if match.revision.run is not None)
    names = ChangesByName.of(reader, dataset)
    for run, group in groupby(of_runs, key=lambda match: match.revision.run):
        told = [*group]
        if run is None:
            continue
        if notice.change_filter is None:
            sentence = _deltas(name, told)
        else:
            written = feed.count_of_run(reader, dataset.id, run)
            sentence = narrowed(name, wanted, len(told), written)
        changes = [
            told_change(names.of_revision(revision, columns), wanted, sentences)
            for revision, sentences in told
        ]
        yield TriedMessage(told[0].revision.created_at, sentence, changes, dataset)


def _deltas(name: str, told: Sequence[MatchedRevision]) -> str:
    """What a notice of all changes says of a Run."""
    kinds = Counter(revision.kind for revision, _ in told)
    covered = sum(
        revision.kind == "updated" and set(revision.changed).issubset(revision.edited)
        for revision, _ in told
    )
    changed = kinds["updated"] + kinds["returned"]
    return notice_events.changes(name, kinds["created"], changed, kinds["missing"], covered)
