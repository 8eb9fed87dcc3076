"""The table of a dataset at another moment, and what became of it between two (rules 15)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from itertools import islice
from typing import Final, Literal, TypedDict

from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import Detail, Invalid
from livedata.model.ids import DatasetId, Micros, OwnerName, RowId, RunId
from livedata.model.row import RevisionKind, Scalar
from livedata.model.row_name import RowName, name_of
from livedata.model.run import RowDeltas
from livedata.store import datasets, feed, moments, runs, shown_rows
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.moments import RowBetween

DIGITS: Final = 18
"""So many digits has a sequence at most."""
_END_OF_ID: Final = 8
"""So many characters has the shorter end of an id."""
LONGEST_WHEN: Final = 100
"""So many characters has what says when."""
_SHORT: Final = 60
_TOGETHER: Final = 500
"""So many rows share the question for what research calls them."""
_NEVER: Final = Micros(2**62)
"""Later than any moment that a clock shows."""
_A_DAY: Final = 86_400_000_000
_KINDS: Final[Mapping[str, Sequence[RevisionKind]]] = {
    "new": ("created",),
    "changed": ("updated", "returned"),
    "gone": ("missing",),
}
DiffKind = Literal["new", "gone", "back", "changed"]


class Moment(Struct, frozen=True):
    """Where a moment lies in the history of a dataset: after the revision `sequence`, 0 for none.

    `is_to_come` says that it lies in the future, so that `sequence` is the head, `is_day` that it
    is the end of a day, and `end` what is later than it, if it was given as a time.
    """

    given: str
    sequence: int
    is_to_come: bool = False
    is_day: bool = False
    end: Micros | None = None


class CellDiff(TypedDict):
    """A cell at two moments."""

    before: Scalar
    after: Scalar


class RowDiff(TypedDict):
    """What became of a row: its key, and by the name of the column the cells that differ."""

    kind: DiffKind
    row: str
    changed: dict[str, CellDiff]


class NamedDiff(Struct, frozen=True):
    """What became of a row, of which id and key, and the text that names it at the later moment.

    `last` has the values of one that is gone, by the names of the columns.
    """

    row: RowId
    key: str
    text: Scalar
    diff: RowDiff
    last: Mapping[str, Scalar] = {}

    @property
    def name(self) -> RowName:
        """What the row is called then."""
        # Made when somebody asks: of the rows of a digest that is told of few.
        return RowName(name_of(self.text) or self.key, self.key)


class TableDiff(Struct, frozen=True):
    """What became of a table between two moments, row by row.

    Without `is_exact` it tells of the rows that changed last alone.
    """

    since: Moment
    until: Moment
    named: Sequence[NamedDiff]
    is_exact: bool = True

    @property
    def rows(self) -> list[RowDiff]:
        """What became of each row, for programs."""
        return [each.diff for each in self.named]


def find_moment(reader: Reader, dataset: DatasetRef, when: str | None, zone: str) -> Moment:
    """Where WHEN lies in the history of a dataset; without one, at its head.

    WHEN is a moment with its zone, a day (its end in `zone`), a sequence, or the id of a Run of the
    dataset. Raises Invalid if it is nothing of these, or a sequence past the head.
    """
    if when is None:
        return Moment("now", dataset.head)
    if when.isascii() and when.isdigit():
        return _at_number(reader, dataset, when)
    day = end_of_day(when, zone)
    end = day or _instant(when)
    if end is None:
        matches = runs.of_dataset_by_ends(reader, dataset.id, when)
        return Moment(when, _after_run(reader, dataset, when, matches))
    last = feed.last_before(reader, dataset.id, end)
    return Moment(when, last, end > reader.now(), day is not None, end)


def end_of_day(when: str, zone: str) -> Micros | None:
    """The moment at which a day ends; None if it is no day."""
    try:
        day = date.fromisoformat(when)
        # Imported late: a listing of now asks for no zone.
        from zoneinfo import ZoneInfo

        local: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
        following = datetime.combine(day + timedelta(days=1), time(), local)
        return ids.microseconds(following)
    except OverflowError:
        return _NEVER
    except ValueError:
        return None


def is_time(when: str, zone: str) -> bool:
    """Whether WHEN is a moment or a day, which lies in the history of every dataset."""
    return (end_of_day(when, zone) or _instant(when)) is not None


def day_before(when: str, zone: str) -> str | None:
    """The day before today, after which today's changes came; None if WHEN is not today."""
    end, now = end_of_day(when, zone), ids.now()
    if end is None or not now < end <= now + _A_DAY:
        return None
    return (date.fromisoformat(when) - timedelta(days=1)).isoformat()


def diff(
    db: Database,
    owner: OwnerName,
    dataset_id: DatasetId,
    since: str,
    until: str | None,
    zone: str,
    most: int | None = None,
) -> TableDiff:
    """What became of the table of a dataset between two moments, net; `until` is now without one.

    What came and went between does not show. With `most`, the rows of so many last changes are
    looked at. Raises NotFound, and Invalid if a moment is none, or the first is later than the
    second.
    """
    with db.reading() as reader:
        dataset = datasets.ref(reader, owner, dataset_id)
        first = find_moment(reader, dataset, since, zone)
        last = find_moment(reader, dataset, until, zone)
        if first.sequence > last.sequence:
            raise _wrong(f"{since} is later than {until}: write the earlier moment first.")
        ends, rows = (first.sequence, last.sequence), None
        if most is not None and last.sequence - first.sequence > most:
            rows = moments.touched(reader, dataset.id, *ends, most)
        named = [*row_diffs(reader, dataset, *ends, rows)]
        return TableDiff(first, last, named, rows is None)


def changed_by(
    reader: Reader, dataset: DatasetRef, run: RunId, deltas: RowDeltas, most: int
) -> list[NamedDiff]:
    """What a Run that was accepted made of its rows: the first `most` new, changed and gone ones.

    `deltas` is how many there are of each.
    """
    first, last = feed.of_run(reader, dataset.id, run)
    rows = [
        row
        for kind, number in deltas.items()
        if number
        for row in moments.touched_by(reader, dataset.id, (first, last), _KINDS[kind], most)
    ]
    return [*row_diffs(reader, dataset, first - 1, last, rows)] if rows else []


def row_diffs(
    reader: Reader,
    dataset: DatasetRef,
    first: int,
    last: int,
    rows: Collection[RowId] | None = None,
) -> Iterator[NamedDiff]:
    """What became of each row, or of these, between two sequences, net."""
    now = moments.fields_at(reader, dataset, last)
    # Values have the same places in both. What was dropped by then has no part in what became of
    # them, and what came since had no value.
    columns = [
        (position, name) for position, name in enumerate(now.names) if position not in now.hidden
    ]
    text = now.label_of
    stored = moments.differences(reader, dataset.id, first, last, rows)
    # Some at a time: a table need not fit into memory.
    while together := list(islice(stored, _TOGETHER)):
        names = shown_rows.aliases(reader, dataset.id, [each.key for each in together])
        for each in together:
            difference = _difference(each, names.get(each.key, each.key), columns)
            if difference is not None:
                is_gone = difference["kind"] == "gone"
                values = {name: _at(each.after, place) for place, name in columns if is_gone}
                yield NamedDiff(each.row, each.key, text(each.after), difference, values)


def row_diff(
    name: str,
    values: Iterable[tuple[str, Scalar, Scalar]],
    was_there: bool | None,
    *,
    is_there: bool,
) -> RowDiff | None:
    """What became of a row, by the name of each column its values at both moments.

    `was_there` is None for a row that was not known. None if it came and went, or is as it was.
    """
    cells = {
        column: CellDiff(before=before, after=after)
        for column, before, after in values
        if before != after
    }
    kind = _kind(was_there, is_there=is_there)
    if kind is None or (kind == "changed" and not cells):
        return None
    return {"kind": kind, "row": name, "changed": cells}


def _kind(was_there: bool | None, *, is_there: bool) -> DiffKind | None:
    if was_there is None:
        return "new" if is_there else None
    if was_there == is_there:
        return "changed"
    return "back" if is_there else "gone"


def _at_number(reader: Reader, dataset: DatasetRef, when: str) -> Moment:
    # A number of thousands of digits is none that Python reads.
    if len(when) <= DIGITS and int(when) <= dataset.head:
        return Moment(when, int(when))
    # Either end of a Run's id may be digits alone.
    if len(when) >= _END_OF_ID and (matches := runs.of_dataset_by_ends(reader, dataset.id, when)):
        return Moment(when, _after_run(reader, dataset, when, matches))
    raise _wrong(
        f"The sequence {_short(when)} is past the head of {dataset.name!r}, which is "
        f"{dataset.head}."
    )


def _instant(when: str) -> Micros | None:
    """The first moment after one that is written with its zone; None if it is none."""
    try:
        return Micros(ids.parse_timestamp(when) + 1)
    except (ValueError, OverflowError):
        return None


def _after_run(reader: Reader, dataset: DatasetRef, when: str, matches: Sequence[RunId]) -> int:
    """The sequence at which the one Run that WHEN names left the table."""
    if not matches:
        raise _wrong(
            f"{_short(when)!r} is no moment: write a date and time with its zone "
            "(2026-03-01T08:00:00Z), a day (2026-03-01), a sequence (120) or the id of a Run of "
            f"{dataset.name!r}."
        )
    if len(matches) > 1:
        raise _wrong(f"{when!r} is the beginning of {len(matches)} Run ids; write more of it.")
    first, last = feed.of_run(reader, dataset.id, matches[0])
    if first <= last:
        return last
    _, _, completed = runs.times(reader, matches[0])
    # A Run that wrote nothing left the table as it was when it ended.
    return (
        dataset.head
        if completed is None
        else feed.last_before(reader, dataset.id, Micros(completed + 1))
    )


def _difference(row: RowBetween, name: str, columns: Sequence[tuple[int, str]]) -> RowDiff | None:
    """What became of a row; None if it came and went, or is as it was."""
    was_there = None if row.before is None else row.was_there
    before = row.before or []
    values = ((column, _at(before, place), _at(row.after, place)) for place, column in columns)
    return row_diff(name, values, was_there, is_there=row.is_there)


def _at(values: Sequence[Scalar], position: int) -> Scalar:
    # A row may be older than the last columns.
    return values[position] if position < len(values) else None


def _short(when: str) -> str:
    return when if len(when) <= _SHORT else f"{when[:_SHORT]}…"


def _wrong(sentence: str) -> Invalid:
    return Invalid(sentence, (Detail("at", sentence, is_predicate=False),))
