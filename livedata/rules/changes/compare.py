"""Current rows x accepted records -> what changes (rules 5.6).

A list of values has one place for each column, its position; a missing place is null. Rows are
never changed in place: each change holds the whole row after it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Literal, NotRequired, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from livedata.model.harvest import PageRead, Record
from livedata.model.ids import RevisionId, RowId
from livedata.model.row import Evidence, MissingReason, Presence, RevisionKind, RowStatus, Scalar

Reasons = dict[int, MissingReason]


class SourceValue(TypedDict):
    """The latest value of an overridden cell in the source; ``reason`` only if it is null."""

    value: Scalar
    reason: NotRequired[MissingReason]


Overrides = dict[int, SourceValue]


class Cells(Struct, frozen=True):
    """The cells of a row: shown values, reasons of empty ones, source values under hand edits."""

    values: list[Scalar]
    reasons: Reasons = field(default_factory=dict)
    overrides: Overrides = field(default_factory=dict)

    def value(self, position: int) -> Scalar:
        """The shown value at a position; null if the row is older than the column."""
        return self.values[position] if position < len(self.values) else None

    def source(self, position: int) -> tuple[Scalar, MissingReason | None]:
        """The value and reason of the source at a position, also under a hand edit."""
        covered = self.overrides.get(position)
        if covered is None:
            return self.value(position), self.reasons.get(position)
        return covered["value"], covered.get("reason")

    def is_unread(self, position: int) -> bool:
        """Whether no Run has read a collected cell yet: it is empty, and nothing says why."""
        return self.source(position) == (None, None)


class CurrentRow(Struct, frozen=True):
    """A row as it stands; `evidence` is where its cells were read."""

    id: RowId
    key: str
    cells: Cells
    presence: Presence
    revision_id: RevisionId
    evidence: Evidence


class SeenRecord(Struct, frozen=True):
    """A record, with the page on which it was read."""

    page: PageRead
    record: Record


class RowChange(Struct, frozen=True):
    """A revision to write. `row` is None for a new row, `seen` is None for a row that is gone."""

    kind: RevisionKind
    status: RowStatus
    key: str
    cells: Cells
    changed: frozenset[int]
    row: CurrentRow | None
    seen: SeenRecord | None

    def before(self, position: int) -> Scalar:
        """The value that the source had, also under a hand edit."""
        return None if self.row is None else self.row.cells.source(position)[0]


class Changes(Struct, frozen=True):
    """The effect of an accepted Run: revisions in order, and rows that are seen again unchanged.

    Rows that are `standing` were not seen, and nothing says that they are gone.
    """

    revisions: list[RowChange]
    unchanged: list[tuple[CurrentRow, SeenRecord]]
    standing: list[CurrentRow] = field(default_factory=list)

    def count(self, *kinds: Literal["created", "updated", "missing", "returned"]) -> int:
        """The number of revisions of these kinds."""
        return sum(change.kind in kinds for change in self.revisions)

    @property
    def covered(self) -> int:
        """Of the rows that are updated those in which only the source under hand edits moved."""
        updated = (change for change in self.revisions if change.kind == "updated")
        return sum(change.changed <= change.cells.overrides.keys() for change in updated)


class Proposal(Struct, frozen=True):
    """The changes that a harvest makes to the rows; `keys` are those of rows that are present."""

    changes: Changes
    keys: Set[str]

    @property
    def present(self) -> int:
        """How many rows are present before it."""
        return len(self.keys)

    @property
    def keys_after(self) -> Set[str]:
        """The keys of the rows that are present after it."""
        gone = {each.key for each in self.changes.revisions if each.kind == "missing"}
        seen = {each.key for each in self.changes.revisions if each.kind != "missing"}
        return (self.keys - gone) | seen

    @property
    def present_after(self) -> int:
        """How many rows are present after it."""
        return self.present + self.changes.count("created", "returned") - self.gone

    @property
    def gone(self) -> int:
        """How many present rows the harvest does not have."""
        return self.changes.count("missing")

    @property
    def deltas(self) -> tuple[int, int, int]:
        """How many rows the harvest makes, changes and finds gone."""
        changes = self.changes
        return changes.count("created"), changes.count("updated", "returned"), self.gone


def compare(
    current: Iterable[CurrentRow],
    seen: Mapping[str, SeenRecord],
    positions: Sequence[int],
    width: int,
    gone: Collection[str] | None = None,
) -> Changes:
    """The changes that the records `seen`, by key, make to the `current` rows of a dataset.

    `positions` has for each field of a record its position in a stored row of `width` values. Of
    the rows that were not seen those of the keys `gone` are gone, and all if it is not given.
    """
    rows = {row.key: row for row in current}
    revisions: list[RowChange] = []
    unchanged: list[tuple[CurrentRow, SeenRecord]] = []
    for key, sighting in seen.items():
        row = rows.pop(key, None)
        if row is None:
            revisions.append(_created(key, sighting, positions, width))
            continue
        change = _updated(row, sighting, positions, width)
        if change is None:
            unchanged.append((row, sighting))
        else:
            revisions.append(change)
    # What is left in `rows` was not seen; a row that is missing already has no new revision.
    unseen = [row for row in rows.values() if row.presence == "present"]
    lost = unseen if gone is None else [row for row in unseen if row.key in gone]
    # In the order in which they came: a database has none, and pages go through them in parts.
    revisions.extend(_missing(row, width) for row in sorted(lost, key=lambda row: row.id))
    standing = [] if gone is None else [row for row in unseen if row.key not in gone]
    return Changes(revisions, unchanged, standing)


def fill_standing(
    current: Iterable[CurrentRow], seen: Mapping[str, SeenRecord], positions: Sequence[int]
) -> dict[str, SeenRecord]:
    """The records with the values and reasons that the rows have where nothing was read."""
    rows = {row.key: row for row in current}
    return {
        key: replace(sighting, record=_filled(sighting.record, rows.get(key), positions))
        for key, sighting in seen.items()
    }


def _filled(record: Record, row: CurrentRow | None, positions: Sequence[int]) -> Record:
    values, reasons = [*record.values], [*record.reasons]
    for index, quotes in enumerate(record.quotes or ()):
        if quotes is None:
            # A row that nobody has written yet has nothing that could stand.
            kept = (None, "unknown") if row is None else row.cells.source(positions[index])
            values[index], reasons[index] = kept
    return replace(record, values=values, reasons=reasons)


def _created(key: str, seen: SeenRecord, positions: Sequence[int], width: int) -> RowChange:
    values: list[Scalar] = [None] * width
    reasons: Reasons = {}
    for position, value, reason in _source(seen.record, positions):
        values[position] = value
        if reason is not None:
            reasons[position] = reason
    # A new row names the cells that have a value or a reason; empty user columns are neither.
    shown = {position for position, value in enumerate(values) if value is not None}
    changed = frozenset(shown | reasons.keys())
    return RowChange("created", "new", key, Cells(values, reasons), changed, None, seen)


def _is_unchanged(cells: Cells, record: Record, positions: Sequence[int]) -> bool:
    """Whether the record equals a row without hand edits."""
    # Most rows of most Runs end here: comparing whole lists is much faster than cell by cell.
    if cells.overrides:
        return False
    try:
        shown = [cells.values[position] for position in positions]
    except IndexError:  # the row is older than a column that is read
        return False
    if shown != record.values:
        return False
    return [cells.reasons.get(position) for position in positions] == record.reasons


def _moved(
    row: CurrentRow, seen: SeenRecord, positions: Sequence[int]
) -> list[tuple[int, Scalar, MissingReason | None]]:
    """The positions at which the source has something new, each with its value and reason."""
    return [
        (position, value, reason)
        for position, value, reason in _source(seen.record, positions)
        if row.cells.source(position) != (value, reason)
    ]


def _missing(row: CurrentRow, width: int) -> RowChange:
    cells = Cells(_padded(row.cells.values, width), row.cells.reasons, row.cells.overrides)
    return RowChange("missing", "gone", row.key, cells, frozenset(), row, None)


def _padded(values: list[Scalar], width: int) -> list[Scalar]:
    """The values of a row that may be older than the newest columns, filled up to `width`."""
    return values + [None] * (width - len(values))


def _updated(
    row: CurrentRow, seen: SeenRecord, positions: Sequence[int], width: int
) -> RowChange | None:
    moved = [] if _is_unchanged(row.cells, seen.record, positions) else _moved(row, seen, positions)
    returned = row.presence == "missing"
    # Of a column that came later a cell may be read for the first time: an empty one tells nothing.
    if not returned and all(
        value is None and row.cells.is_unread(position) for position, value, _ in moved
    ):
        return None
    values = _padded(row.cells.values, width)
    reasons, overrides = dict(row.cells.reasons), dict(row.cells.overrides)
    for position, value, reason in moved:
        # A hand edit stays in sight; what it covers follows the source.
        if position in overrides:
            overrides[position] = source_value(value, reason)
            continue
        values[position] = value
        reasons.pop(position, None)
        if reason is not None:
            reasons[position] = reason
    changed = frozenset(position for position, _, _ in moved)
    kind: RevisionKind = "returned" if returned else "updated"
    return RowChange(
        kind, "changed", row.key, Cells(values, reasons, overrides), changed, row, seen
    )


def source_value(value: Scalar, reason: MissingReason | None) -> SourceValue:
    """A value of the source in the form that is stored under a hand edit."""
    return {"value": value} if reason is None else {"value": value, "reason": reason}


def _source(
    record: Record, positions: Sequence[int]
) -> Iterable[tuple[int, Scalar, MissingReason | None]]:
    return zip(positions, record.values, record.reasons, strict=True)
