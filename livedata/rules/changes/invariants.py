"""What must hold of a row and its history (rules 5), as sentences.

Each problem is the end of a sentence; the caller begins it with the place of the problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell, row_key
from livedata.messages.templates import plural
from livedata.model.dataset import TYPES_OF, Column
from livedata.model.ids import RevisionId
from livedata.model.row import Evidence, Scalar
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


class Layout(Struct, frozen=True):
    """The columns of a dataset by position, and the identities that its recipes declare.

    An identity is a pair: whether it is composite, and the positions of its fields.
    """

    columns: Sequence[Column]
    identities: Sequence[tuple[bool, tuple[int, ...]]]
    quoted: Sequence[int]
    """The position of the column whose words the cells of each rest on."""
    hidden: Mapping[int, frozenset[int]] = {}
    """Schema version -> the positions of the columns that were dropped by then."""

    def shown(self, cells: Cells, version: int) -> Cells:
        """The cells of a revision of a schema version without those of dropped columns."""
        hidden = self.hidden.get(version)
        if not hidden:
            return cells
        return Cells(
            [None if position in hidden else value for position, value in enumerate(cells.values)],
            {
                position: reason
                for position, reason in cells.reasons.items()
                if position not in hidden
            },
            {
                position: kept
                for position, kept in cells.overrides.items()
                if position not in hidden
            },
        )

    @property
    def cites(self) -> bool:
        """Whether a cell may rest on the words of another: then what it says was not typed."""
        return list(self.quoted) != list(range(len(self.columns)))

    def collected(self, position: int) -> bool:
        """Whether the column at `position` is read from the source."""
        return self.columns[position]["ownership"] == "collected"


class RowVersion(Struct, frozen=True):
    """A row as one revision left it. `changed` is a mask of positions."""

    id: RevisionId
    previous: RevisionId | None
    origin: str
    kind: str
    changed: int
    presence: str
    cells: Cells
    previous_values: list[Scalar] | None
    evidence: Evidence


def cells_problems(layout: Layout, cells: Cells, width: int) -> Iterator[str]:
    """The problems of the cells of a revision, if its schema has `width` columns."""
    if len(cells.values) > width:
        yield f"has {plural(len(cells.values), 'value')} for {plural(width, 'column')}"
    for position, reason in cells.reasons.items():
        if position >= width or not layout.collected(position) or position in cells.overrides:
            yield (
                f"has a missing reason at position {position}, "
                "which is no collected cell of its source"
            )
        elif cells.value(position) is not None or reason not in REASONS:
            yield f"has the missing reason {reason} for {layout.columns[position]['name']}"
    for position, covered in cells.overrides.items():
        if position >= width or not layout.collected(position) or layout.columns[position]["key"]:
            yield (
                f"overrides position {position}, which is not a collected cell outside the identity"
            )
        elif "reason" in covered and covered["value"] is not None:
            yield f"has an override of {layout.columns[position]['name']} that is no source value"


def type_problems(layout: Layout, cells: Cells) -> Iterator[str]:
    """The cells, and the source values below edits, that are not of the type of their column."""
    values = [*enumerate(cells.values[: len(layout.columns)])]
    values += [
        (position, covered["value"])
        for position, covered in cells.overrides.items()
        if position in range(len(layout.columns))
    ]
    for position, value in values:
        column = layout.columns[position]
        kinds = TYPES_OF.get(column["type"], ())
        # To Python True is a number.
        if value is not None and type(value) not in kinds:
            yield f"has {value!r} for {column['name']}, which is a {column['type']}"


def disagrees(kind: str, value: Scalar, text: object) -> bool:
    """Whether a cell says something else than the text that it was read from, as stored.

    A text that is cut is a tuple with its beginning. Without a text there is nothing to compare.
    """
    if isinstance(text, tuple):
        beginning = clean(str(text[0]))
        return isinstance(value, str) and not clean(value).startswith(beginning)
    if not isinstance(text, str) or text == value:
        return False
    if isinstance(value, str):
        return clean(text) != clean(value)
    if kind == "boolean":
        read = read_cell(text, kind).value
        # An attribute such as disabled is true by being there: then its text is its own name.
        return value is not (text != "" if read is None else read)
    return _read(text, kind) != value


@lru_cache(maxsize=4096)
def _read(text: str, kind: str) -> Scalar:
    try:
        value = read_cell(text, kind).value
        # A text such as 1e-07 says a number too, although it is read as none on a page.
        return float(text) if value is None else value
    except ValueError:
        return None


def key_problem(layout: Layout, cells: Cells, key: str) -> str | None:
    """The problem of a key that does not match the key cells, or None."""
    # The row may date from any recipe of the dataset, so its key may fit any identity.
    spelt = [
        row_key([cells.value(position) for position in positions], composite=composite)
        for composite, positions in layout.identities
    ]
    return f"has the key {key!r}, but its cells spell {spelt[-1]!r}" if key not in spelt else None


def history_problems(before: RowVersion | None, after: RowVersion) -> Iterator[str]:
    """The problems of `after` as the revision that follows `before`; None for the first one."""
    if after.previous != (before.id if before else None):
        yield "does not name the revision before it as its predecessor"
    if after.origin not in ORIGINS.get(after.kind, ()):
        yield f"is of kind {after.kind} and origin {after.origin}"
    if (before is None) is not (after.kind in STARTS):
        yield f"is of kind {after.kind}, and is {'not ' if before else ''}the first of its row"
    presence = before.presence if before else None
    if after.presence not in _presences(presence, after):
        yield f"is of kind {after.kind} and leaves the row {after.presence}, which was {presence}"
    if not _mask_fits(before, after):
        names = [
            position
            for position in range(after.changed.bit_length())
            if after.changed >> position & 1
        ]
        yield f"says that the positions {names} changed, which is not what did"
    claimed = after.previous_values
    if claimed is not None and claimed != _values_at(after.changed, before):
        yield "says that other values stood before than did"
    # Neither a missing row nor an edit has read the page again.
    keeps = after.kind == "missing" or after.origin == "user"
    if before is not None and keeps and after.evidence != before.evidence:
        yield "moves the evidence of its row without having read it"


def _values_at(mask: int, before: RowVersion | None) -> list[Scalar] | None:
    """The values at the positions of a mask; None if they alone do not describe the cells."""
    # With overrides the feed also shows what they cover, so it reads the revision itself.
    if before is None or before.cells.overrides:
        return None
    return [
        before.cells.value(position)
        for position in range(mask.bit_length())
        if mask >> position & 1
    ]


def _presences(presence: str | None, after: RowVersion) -> set[str | None]:
    """The presences in which a revision may leave a row that had `presence` before."""
    if after.origin == "user":
        return {presence}
    if after.kind == "baseline":
        return {"present", "missing"}
    needs, leaves = {
        "created": (None, "present"),
        "updated": ("present", "present"),
        "missing": ("present", "missing"),
        "returned": ("missing", "present"),
    }.get(after.kind, (None, ""))
    return {leaves} if presence == needs else set()


def _mask_fits(before: RowVersion | None, after: RowVersion) -> bool:
    """Whether the mask of a revision names the cells that changed.

    An edit may also name cells that it set to the value they had.
    """
    moved = changed_mask(before.cells if before else None, after.cells)
    if after.origin == "user":
        return moved & ~after.changed == 0
    if after.kind == "baseline":
        # At a position with a hand edit, the mask of a migrated row may have either bit.
        covered = sum(1 << position for position in after.cells.overrides)
        return moved | covered == after.changed | covered
    return moved == after.changed


def changed_mask(before: Cells | None, after: Cells) -> int:
    """The mask of positions at which value, reason or override differ; absent equals null."""
    if before is None:
        before = Cells([])
    width = max(len(before.values), len(after.values))
    old, new = _padded(before.values, width), _padded(after.values, width)
    moved = 0
    for position in range(width):
        if old[position] != new[position]:
            moved |= 1 << position
    for old_map, new_map in ((before.reasons, after.reasons), (before.overrides, after.overrides)):
        if old_map != new_map:
            for position in old_map.keys() | new_map.keys():
                if old_map.get(position) != new_map.get(position):
                    moved |= 1 << position
    return moved


def read_mask(layout: Layout, cells: Cells) -> int:
    """The mask of positions whose source value was read from a page: each must have evidence."""
    mask = 0
    for position in range(min(len(cells.values), len(layout.columns))):
        value, reason = cells.source(position)
        # A text that could not be read as its type was on the page too; a quote of research that
        # is on no page was not.
        read = value is not None or (reason == "extraction_failed" and not layout.cites)
        if read and layout.collected(position):
            mask |= 1 << position
    return mask


def _padded(values: list[Scalar], width: int) -> list[Scalar]:
    return values + [None] * (width - len(values))
