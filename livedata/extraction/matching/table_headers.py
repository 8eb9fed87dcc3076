"""The headers above the cells of a table, by the table model of HTML.

https://html.spec.whatwg.org/multipage/tables.html#attributes-common-to-td-and-th-elements has the
rules. There each cell looks upwards; here one walk downwards keeps for each column what a cell
below would see, since a table may have very many cells.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_WIDEST: Final = 1_000
_HIGHEST: Final = 65_534
_ENDLESS: Final = 1 << 60  # below all rows that a group can have
_NUMBER: Final = re.compile(r"[ \t\n\f\r]*\+?0*([0-9]{1,6})")
_COLUMN_SCOPES: Final = frozenset(("col", "colgroup"))
_PLACED: Final = 4  # what a cell takes to be placed, in nodes looked at
_LOOKED_UP: Final = 4  # the same, to find what is above it
_ROW_SCOPES: Final = frozenset(("row", "rowgroup"))


class _Cell(Struct, eq=False):
    """A cell in its place: the first of its columns and rows, and the ones behind its last.

    `title` is what it says to the cells below it, if it is a header of its columns.
    """

    node: LexborNode
    is_header: bool
    scope: str
    left: int
    right: int
    top: int
    bottom: int
    title: str = ""


class _Header(Struct, frozen=True, eq=False):
    """A header that the cells below it see; `block` counts the header blocks of its column."""

    cell: _Cell
    block: int


class _Column(Struct):
    """What a cell sees that looks up in a column: its headers, from top to bottom.

    A block is a run of header cells with no data cell between them; it is `open` until one comes.
    A slot that several cells cover shows none of them. `deepest` is the cell that goes down
    furthest; what shows of it from the row `shows_from` on is still to be taken in.
    """

    headers: list[_Header] = []
    block: int = 0
    open: bool = False
    deepest: _Cell | None = None
    shows_from: int = 0


def rows_of(table: LexborNode) -> Iterator[list[LexborNode]]:
    """The rows of a table by group, in the order of the model: a footer comes last."""
    groups = [node for node in _children(table) if node.tag in {"thead", "tbody", "tfoot"}]
    for group in sorted(groups, key=lambda node: node.tag == "tfoot"):
        yield [node for node in _children(group) if node.tag == "tr"]


def cells_of(row: LexborNode) -> Iterator[LexborNode]:
    """The cells of a row, without those of tables within it."""
    return (node for node in _children(row) if node.tag in {"td", "th"})


def column_headers(
    groups: Iterable[Sequence[LexborNode]],
    text: Callable[[LexborNode], str],
    spend: Callable[[int], None],
) -> Iterator[tuple[LexborNode, str]]:
    """Each cell that has headers above it, with their texts, joined by a space.

    ``text`` reads a header; ``spend`` is told of the slots that are looked at, and may end it.
    """
    cells = list(_placed(groups, spend))
    with_data = _rows_with_data(cells)
    columns = [_Column() for _ in range(max((cell.right for cell in cells), default=0))]
    for cell in cells:
        covered = columns[cell.left : cell.right]
        for column in covered:
            _go_down(column, cell.top)
        spend(_LOOKED_UP + sum([len(column.headers) for column in covered]))
        above = " ".join([header.cell.title for header in _seen(covered, cell)])
        if above:
            yield cell.node, above
        if cell.is_header and _is_of_columns(cell, with_data):
            cell.title = text(cell.node)
        for column in covered:
            _cover(column, cell)


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def _placed(
    groups: Iterable[Sequence[LexborNode]], spend: Callable[[int], None]
) -> Iterator[_Cell]:
    """The cells of a table in their places, row by row."""
    top = 0
    for rows in groups:
        cells = list(_placed_in_group(rows, top, spend))
        # A cell may be higher than the rows that are left: the group ends where it does.
        ends = [cell.bottom for cell in cells if cell.bottom < _ENDLESS]
        end = max([top + len(rows), *ends])
        for cell in cells:
            if cell.bottom > end:
                cell.bottom = end
        yield from cells
        top = end


def _placed_in_group(
    rows: Sequence[LexborNode], top: int, spend: Callable[[int], None]
) -> Iterator[_Cell]:
    """The cells of a group from its first row on; one that is endless may go down beyond it."""
    free: list[int] = []  # for each column the row from which on it is free
    for y, row in enumerate(rows, top):
        left = 0
        for node in cells_of(row):
            begin = left
            while left < len(free) and free[left] > y:
                left += 1
            attributes = node.attributes
            right = left + _width(attributes)
            bottom = y + _height(attributes)
            spend(_PLACED + right - begin)
            free += [0] * (right - len(free))
            # A wide cell may lie over a high one, which goes on below it.
            free[left:right] = [max(row_from, bottom) for row_from in free[left:right]]
            scope = (attributes.get("scope") or "").lower()
            yield _Cell(node, node.tag == "th", scope, left, right, y, bottom)
            left = right


def _width(attributes: Mapping[str, str | None]) -> int:
    return min(_number(attributes.get("colspan")) or 1, _WIDEST)


def _height(attributes: Mapping[str, str | None]) -> int:
    """The rows of a cell; one of 0 rows goes down to the end of its group."""
    rows = _number(attributes.get("rowspan"))
    return 1 if rows is None else min(rows, _HIGHEST) or _ENDLESS


def _number(written: str | None) -> int | None:
    """The number that a text begins with, cut behind six digits; None without one."""
    match = _NUMBER.match(written) if written else None
    return None if match is None else int(match[1])


def _rows_with_data(cells: Iterable[_Cell]) -> list[tuple[int, int]]:
    """The rows in which data cells are: the first, and the one behind the last, of each run."""
    runs: list[tuple[int, int]] = []
    for cell in cells:
        if cell.is_header:
            continue
        if runs and cell.top <= runs[-1][1]:
            runs[-1] = (runs[-1][0], max(runs[-1][1], cell.bottom))
        else:
            runs.append((cell.top, cell.bottom))
    return runs


def _is_of_columns(cell: _Cell, with_data: Sequence[tuple[int, int]]) -> bool:
    """Whether a header cell is that of its columns, rather than of its row."""
    if cell.scope in _COLUMN_SCOPES or cell.scope in _ROW_SCOPES:
        return cell.scope in _COLUMN_SCOPES
    behind = bisect_right(with_data, cell.top, key=lambda run: run[1])
    return behind == len(with_data) or with_data[behind][0] >= cell.bottom


def _go_down(column: _Column, row: int) -> None:
    """Let a column take in the cell that shows in it above a row."""
    cell = column.deepest
    if cell is None or column.shows_from >= min(row, cell.bottom):
        return
    column.shows_from = cell.bottom
    if not cell.is_header:
        column.open = False
        return
    column.headers = _unhidden(column, cell)
    column.block += not column.open
    column.open = True
    if cell.title:
        column.headers.append(_Header(cell, column.block))


def _cover(column: _Column, cell: _Cell) -> None:
    """Let a cell cover a column from its row on, beside the one that may still go on there."""
    other = column.deepest
    if other is None or other.bottom <= cell.top:
        column.deepest, column.shows_from = cell, cell.top
        return
    column.shows_from = max(column.shows_from, min(cell.bottom, other.bottom))
    if cell.bottom > other.bottom:
        column.deepest = cell


def _unhidden(column: _Column, cell: _Cell) -> list[_Header]:
    """The headers of a column that a cell, which comes next in it, does not hide.

    A header hides those of its very columns that stand behind data: tables repeat their headers.
    """
    if not cell.is_header:
        return column.headers
    return [
        header
        for header in column.headers
        if (column.open and header.block == column.block)
        or (header.cell.left, header.cell.right) != (cell.left, cell.right)
    ]


def _seen(columns: Sequence[_Column], cell: _Cell) -> Iterable[_Header]:
    """The headers that a cell sees, each once, from top to bottom and left to right."""
    if len(columns) == 1:
        return _unhidden(columns[0], cell)
    seen = {id(header.cell): header for column in columns for header in _unhidden(column, cell)}
    return sorted(seen.values(), key=lambda header: (header.cell.top, header.cell.left))
