"""The lines of a table as pages show them: the cells of rows, with what stood there before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, starmap
from typing import Any, TypeVar

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros, RowId, format_timestamp, format_uuid, raw_id
from livedata.model.row import MissingReason, Presence, RowFilter, RowStatus, Scalar
from livedata.model.row_name import RowName, name_of
from livedata.rules.changes.compare import SourceValue
from livedata.store import rows
from livedata.store.database import backend
from livedata.store.database.backend import Reader
from livedata.store.database.codec import OVERRIDES, REASONS, VALUES, Fields, load_positions
from livedata.store.database.statements import listed

T = TypeVar("T")

_CANDIDATE = "SELECT id, row_key, updated_at, presence, data, overrides FROM rows WHERE"
# What stood there is kept with the change, else with the revision before it: only then is that one
# looked up, for none has the id NULL. The dataset is not named: with it, SQLite would read all its
# rows instead of looking up these.
_LINES = """
SELECT w.id, w.row_key, w.presence, w.status, w.updated_at, v.changed,
       w.data, w.reasons, w.overrides, v.was, p.data AS before
FROM rows w
LEFT JOIN revisions v ON v.id = w.revision_id AND w.status = 'changed'
LEFT JOIN revisions p ON p.id = CASE WHEN v.was IS NULL THEN v.previous_id END
WHERE
"""
# Only the last revisions of each row: by the index of its row, whatever its history is.
_LATEST = """
SELECT v.row_id, v.created_at, v.presence, v.data, v.overrides
FROM rows w JOIN revisions v ON v.row_id = w.id AND v.sequence > coalesce((
    SELECT sequence FROM revisions WHERE row_id = w.id ORDER BY sequence DESC LIMIT 1 OFFSET :most
), 0)
WHERE w.id IN
"""


class CandidateRow(Struct, frozen=True):
    """A row that a page may show, with the texts that are kept of its values and hand edits."""

    id: RowId
    key: str
    updated_at: Micros
    presence: Presence
    data: str
    overrides: str | None

    @property
    def values(self) -> Sequence[Scalar]:
        """What it is searched and sorted by: its values by position."""
        return VALUES.load(self.data)

    @property
    def edited(self) -> Mapping[int, SourceValue]:
        """What the source says under the hand edits, by position."""
        return load_positions(OVERRIDES, self.overrides)

    @property
    def size(self) -> int:
        """How much there is to look at, in characters."""
        return len(self.data) + len(self.overrides or "")


class Line(RowName, frozen=True):
    """A row as a table shows it, its cells by position, with its name, and its key beside that.

    `alias` is what research calls the row; `missing` says why cells are empty, `was` what stood in
    the cells that changed last, and `edited` the cells with a hand edit.
    """

    id: str
    alias: str | None
    presence: Presence
    status: RowStatus
    updated_at: str
    fields: Fields
    values: Sequence[Scalar]
    missing: Mapping[int, MissingReason]
    was: Mapping[int, Scalar]
    edited: Collection[int]

    @property
    def data(self) -> dict[str, Scalar]:
        """Its cells by field id."""
        return self.fields.cells(self.values)


def newest(
    reader: Reader,
    dataset: DatasetId,
    only: RowFilter,
    before: tuple[Micros, str] | None = None,
    *,
    back: bool = False,
) -> Iterator[CandidateRow]:
    """By updatedAt, then id, both descending; `before` is that pair of the last one seen.

    `back` has those that stand before it, the nearest first. All of them, for a reader who stops.
    """
    where, values = rows.where(dataset, only, before, newer=back)
    order = "updated_at, id" if back else "updated_at DESC, id DESC"
    sql = f"{_CANDIDATE} {where} ORDER BY {order}"
    return starmap(CandidateRow, reader.page(sql, **values))


def candidates(reader: Reader, dataset: DatasetId, only: RowFilter) -> Iterator[CandidateRow]:
    """All of them, in no order, for a reader who may stop."""
    where, values = rows.where(dataset, only)
    return starmap(CandidateRow, reader.page(f"{_CANDIDATE} {where}", **values))


def count(reader: Reader, dataset: DatasetId, only: RowFilter) -> int:
    """How many there are, also of those that are gone."""
    where, values = rows.where(dataset, only)
    return int(reader.value(f"SELECT count(*) FROM rows WHERE {where}", **values))  # noqa: S608  (our names)


def newest_lines(
    reader: Reader,
    dataset: DatasetId,
    fields: Fields,
    only: RowFilter,
    before: tuple[Micros, str] | None,
    limit: int,
    *,
    back: bool = False,
) -> tuple[list[Line], bool]:
    """The lines of the first of the rows that `newest` has: at most `limit`, none after PAGE_BYTES.

    With whether there are more.
    """
    where, values = rows.where(dataset, only, before, newer=back, of="w.")
    order = "w.updated_at, w.id" if back else "w.updated_at DESC, w.id DESC"
    sql = f"{_LINES} {where} ORDER BY {order} LIMIT :limit"
    selected = reader.page(sql, **values, limit=limit + 1)
    stored = [*_until_full(selected, limit)]
    # The row beyond them only tells that there are more.
    return _lines(reader, dataset, fields, stored), next(selected, None) is not None


def lines(
    reader: Reader, dataset: DatasetId, fields: Fields, wanted: Sequence[RowId]
) -> list[Line]:
    """The lines of these rows, in this order; none after PAGE_BYTES."""
    return _lines(reader, dataset, fields, _stored(reader, wanted))


def _lines(
    reader: Reader, dataset: DatasetId, fields: Fields, stored: Sequence[backend.Row]
) -> list[Line]:
    called = aliases(reader, dataset, [row[1] for row in stored])
    label_of = fields.label_of
    return [_line(fields, label_of, called, *row) for row in stored]


def _stored(reader: Reader, wanted: Sequence[RowId]) -> list[backend.Row]:
    together = {row[0]: row for row in _until_full(_selected(reader, wanted))}
    if len(together) == len(wanted):
        return [together[row] for row in wanted]
    # The store has an order of its own: what does not fit as a whole is read one by one.
    return [*_until_full(row for each in wanted for row in _selected(reader, [each]))]


def _selected(reader: Reader, wanted: Sequence[RowId]) -> Iterator[backend.Row]:
    names, named = listed("row", wanted)
    return reader.page(f"{_LINES} w.id IN ({names})", **named) if named else iter(())


def _until_full(stored: Iterable[backend.Row], limit: int | None = None) -> Iterator[backend.Row]:
    size = 0
    for row in islice(stored, limit):
        yield row
        # All texts of a line, one by one: this is asked of each row.
        size += len(row[6]) + len(row[7] or "") + len(row[8] or "")
        size += len(row[9] or "") + len(row[10] or "")
        if size >= backend.PAGE_BYTES:
            return


class ShownState(Struct, frozen=True):
    """What a row showed in a field from a moment on, and whether it was there."""

    at: Micros
    presence: Presence
    value: Scalar


def latest(
    reader: Reader, position: int, wanted: Sequence[RowId], most: int
) -> dict[RowId, list[ShownState]]:
    """What these rows showed in a field by their last revisions, `most` of each, the oldest first.

    None after PAGE_BYTES.
    """
    ids, named = listed("row", wanted)
    states: dict[RowId, list[ShownState]] = {}
    if not named:
        return states
    sql = f"{_LATEST} ({ids}) ORDER BY v.row_id, v.sequence"
    for row, moment, presence, data, _ in reader.page(sql, **named, most=most):
        values = VALUES.load(data)
        # A revision may be older than the column.
        value = values[position] if position < len(values) else None
        states.setdefault(RowId(row), []).append(ShownState(moment, presence, value))
    return states


def names(reader: Reader, fields: Fields, wanted: Collection[str]) -> dict[str, RowName]:
    """Row id -> what a reader calls the row now."""
    ids, named = listed("row", [raw_id(row) for row in wanted])
    if not named:
        return {}
    stored = reader.rows(f"SELECT id, row_key, data FROM rows WHERE id IN ({ids})", **named)  # noqa: S608  (our names)
    name = fields.namer
    return {format_uuid(row): name(key, VALUES.load(data)) for row, key, data in stored}


def aliases(reader: Reader, dataset: DatasetId, keys: Sequence[str]) -> dict[str, str]:
    """Key -> what research calls the row."""
    who = rows.identities(reader, dataset, keys)
    return {key: identity["aliases"][0] for key, identity in who.items()}


def _line(
    fields: Fields,
    label_of: Callable[[Sequence[Scalar]], Scalar],
    called: Mapping[str, str],
    row: bytes,
    key: str,
    presence: Presence,
    status: RowStatus,
    updated_at: Micros,
    changed: int,
    *texts: Any,
) -> Line:
    data, reasons, overrides, was, before = texts
    values = VALUES.load(data)
    if len(values) < len(fields.ids):
        # A row may be older than the last columns.
        values += [None] * (len(fields.ids) - len(values))
    missing: dict[int, MissingReason] = load_positions(REASONS, reasons) if reasons else {}
    edited = load_positions(OVERRIDES, overrides) if overrides else ()
    if None in values:
        unread = fields.unread(values, missing, edited, len(values))
        missing |= dict.fromkeys(unread, "unknown")
    return Line(
        name_of(label_of(values)) or key,
        key,
        format_uuid(row),
        called.get(key),
        presence,
        status,
        _timestamp(updated_at),
        fields,
        values,
        missing,
        _was(changed, was, before) if status == "changed" else {},
        edited,
    )


_timestamp = lru_cache(maxsize=256)(format_timestamp)  # the rows that one Run wrote have its moment


def _was(changed: int, was: str | None, before: str | None) -> dict[int, Scalar]:
    positions = _positions(changed)
    if was is not None:
        return dict(zip(positions, VALUES.load(was), strict=True))
    values = VALUES.load(before) if before is not None else []
    return {position: values[position] for position in positions if position < len(values)}


@lru_cache(maxsize=64)  # the rows that one Run changed have few masks
def _positions(mask: int) -> list[int]:
    return [position for position in range(mask.bit_length()) if mask >> position & 1]
