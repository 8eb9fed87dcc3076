"""What another source would make of the columns of a dataset: counted in cells, and in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from livedata.messages.templates import joined, plural

_KEYS = "their keys"


class AddedCells(Struct, frozen=True):
    """A column that would be added, and in how many rows a Run would find a value for it."""

    name: str
    filled: int
    empty: int


class DroppedCells(Struct, frozen=True):
    """A column that would be dropped: how many of its cells have a value or a hand edit."""

    name: str
    values: int
    edits: int


class RelabelledColumn(Struct, frozen=True):
    """A column that people would be shown by another label."""

    name: str
    before: str
    after: str


class RowNames(Struct, frozen=True):
    """The columns whose texts name the rows; None where their keys do."""

    before: str | None
    after: str | None


class ColumnChanges(Struct, frozen=True, rename="camel"):
    """What would become of the columns; `described` are those with another description.

    `order` has the names of all as they would stand, if that is another order than now, and
    `rows_named_by` is None if rows stay named as they are.
    """

    added: Sequence[AddedCells] = ()
    dropped: Sequence[DroppedCells] = ()
    relabelled: Sequence[RelabelledColumn] = ()
    described: Sequence[str] = ()
    order: Sequence[str] | None = None
    rows_named_by: RowNames | None = None

    @property
    def sentences(self) -> list[str]:
        """A sentence for each of them."""
        return [*self._sentences()]

    def _sentences(self) -> Iterator[str]:
        yield from (f"{each.name} would be added: {_found(each)}." for each in self.added)
        yield from (f"{each.name} would be dropped{_held(each)}." for each in self.dropped)
        for each in self.relabelled:
            yield f'{each.name} would be labelled "{each.after}", and no longer "{each.before}".'
        if self.described:
            noun = "description" if len(self.described) == 1 else "descriptions"
            yield f"The {noun} of {joined(self.described)} would change."
        if self.order is not None:
            yield f"The columns would stand in another order: {', '.join(self.order)}."
        if (names := self.rows_named_by) is not None:
            before, after = names.before or _KEYS, names.after or _KEYS
            yield f"Rows would be named by {after}, and no longer by {before}."


def _found(column: AddedCells) -> str:
    total = column.filled + column.empty
    if not column.filled:
        return f"none of {plural(total, 'row')} would get a value" if total else "no row was read"
    rest = f"{column.empty} would stay without" if column.empty else "none would stay without"
    return f"{plural(column.filled, 'row')} would get a value, {rest}"


def _held(column: DroppedCells) -> str:
    if not column.values and not column.edits:
        return ", and has no values"
    edits = f" and {plural(column.edits, 'hand edit')}" if column.edits else ""
    return f" with its {plural(column.values, 'value')}{edits}; the history keeps what it had"
