"""What must hold of a row and its history (decisions, Identity, rows, revisions), as sentences.

Each problem is the end of a sentence that begins with the place where it was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from livedata.extraction.cells import row_key
from livedata.model.dataset import Column
from livedata.model.evidence import Evidence
from livedata.model.ids import RevisionId
from livedata.model.row import Scalar
from livedata.rules.changes.compare import Cells

REASONS = frozenset({"unknown", "not_found", "not_applicable", "extraction_failed"})
ORIGINS = {
    "created": {"collection"},
    "updated": {"collection", "user"},
    "missing": {"collection"},
    "returned": {"collection"},
    "baseline": {"migration"},
}
STARTS = frozenset({"created", "baseline"})


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a dataset by position, and the identities that its recipes declare.

    An identity is whether it is composite, and the positions that it is made of.
    """

    columns: Sequence[Column]
    identities: Sequence[tuple[bool, tuple[int, ...]]]

    def collected(self, position: int) -> bool:
        """Whether the column at `position` is read from the source."""
        return self.columns[position]["ownership"] == "collected"


@dataclass(frozen=True, slots=True)
class Version:
    """A row as one revision left it."""

    id: RevisionId
    previous: RevisionId | None
    origin: str
    kind: str
    changed: int
    presence: str
    cells: Cells
    was: list[Scalar] | None
    evidence: Evidence


def cells_problems(layout: Layout, cells: Cells, width: int) -> Iterator[str]:
    """What is wrong with the cells of a revision whose schema has `width` columns."""
    if len(cells.values) > width:
        yield f"has {len(cells.values)} values for {width} columns"
    if not all(value is None or isinstance(value, str | int | float) for value in cells.values):
        yield "has a value that is not a scalar"
    for at, reason in cells.reasons.items():
        if at >= width or not layout.collected(at) or at in cells.overrides:
            yield f"has a missing reason at position {at}, which is no collected cell of its source"
        elif cells.value(at) is not None or reason not in REASONS:
            yield f"has the missing reason {reason} for {layout.columns[at]['name']}"
    for at, kept in cells.overrides.items():
        if at >= width or not layout.collected(at) or layout.columns[at]["key"]:
            yield f"overrides position {at}, which is not a collected cell outside the identity"
        elif "value" not in kept or ("reason" in kept and kept["value"] is not None):
            yield f"has an override of {layout.columns[at]['name']} that is no source value"


def key_problem(layout: Layout, cells: Cells, key: str) -> str | None:
    """Whether the row's key is what its key cells spell."""
    spelt = [
        row_key([cells.value(at) for at in positions], composite=composite)
        for composite, positions in layout.identities
    ]
    return f"has the key {key!r}, but its cells spell {spelt[-1]!r}" if key not in spelt else None


def history_problems(before: Version | None, after: Version) -> Iterator[str]:
    """What is wrong with `after` as the revision that follows `before`."""
    if after.previous != (before.id if before else None):
        yield "does not name the revision before it as its predecessor"
    if after.origin not in ORIGINS.get(after.kind, ()):
        yield f"is of kind {after.kind} and origin {after.origin}"
    if (before is None) is not (after.kind in STARTS):
        yield f"is of kind {after.kind}, and is {'not ' if before else ''}the first of its row"
    was = before.presence if before else None
    if after.presence not in _presences(was, after):
        yield f"is of kind {after.kind} and leaves the row {after.presence}, which was {was}"
    if not _mask_fits(before, after):
        names = [at for at in range(after.changed.bit_length()) if after.changed >> at & 1]
        yield f"says that the positions {names} changed, which is not what did"
    if after.was is not None and after.was != _values_at(after.changed, before):
        yield "says that other values stood before than did"
    keeps = after.kind == "missing" or after.origin == "user"
    if before is not None and keeps and after.evidence != before.evidence:
        yield "moves the evidence of its row without having read it"


def _values_at(mask: int, before: Version | None) -> list[Scalar] | None:
    """What stood at the positions of a mask; None where that is not all that is to be said."""
    if before is None or before.cells.overrides:
        return None
    return [before.cells.value(at) for at in range(mask.bit_length()) if mask >> at & 1]


def _presences(was: str | None, after: Version) -> set[str | None]:
    """How a revision of this kind may leave a row that was `was`."""
    if after.origin == "user":
        return {was}
    if after.kind == "baseline":
        return {"present", "missing"}
    needs, leaves = {
        "created": (None, "present"),
        "updated": ("present", "present"),
        "missing": ("present", "missing"),
        "returned": ("missing", "present"),
    }.get(after.kind, (None, ""))
    return {leaves} if was == needs else set()


def _mask_fits(before: Version | None, after: Version) -> bool:
    """An edit names what was given, moved or not; all others exactly what moved."""
    moved = moves(before.cells if before else None, after.cells)
    if after.origin == "user":
        return moved & ~after.changed == 0
    if after.kind == "baseline":
        covered = sum(1 << at for at in after.cells.overrides)
        return moved | covered == after.changed | covered
    return moved == after.changed


def moves(before: Cells | None, after: Cells) -> int:
    """The positions whose value, reason or override differ; absent equals null."""
    if before is None:
        before = Cells([])
    width = max(len(before.values), len(after.values))
    old, new = _padded(before.values, width), _padded(after.values, width)
    moved = 0
    for at in range(width):
        if old[at] != new[at]:
            moved |= 1 << at
    for was, now in ((before.reasons, after.reasons), (before.overrides, after.overrides)):
        if was != now:
            for at in was.keys() | now.keys():
                if was.get(at) != now.get(at):
                    moved |= 1 << at
    return moved


def read_cells(layout: Layout, cells: Cells) -> int:
    """The positions whose source value was read somewhere: each must have its evidence."""
    found = 0
    for at in range(min(len(cells.values), len(layout.columns))):
        value, reason = cells.source(at)
        if (value is not None or reason == "extraction_failed") and layout.collected(at):
            found |= 1 << at
    return found


def _padded(values: list[Scalar], width: int) -> list[Scalar]:
    return values + [None] * (width - len(values))
