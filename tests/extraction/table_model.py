"""The headers of cells, found as HTML says it: by slots, each cell looking upwards from its own.

https://html.spec.whatwg.org/multipage/tables.html: slow, and close to its text, as a witness.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode


@dataclass(eq=False)
class Cell:
    """A cell anchored in a slot."""

    node: LexborNode
    x: int
    y: int
    width: int
    height: int

    @property
    def is_header(self) -> bool:
        return self.node.tag == "th"

    @property
    def text(self) -> str:
        return " ".join((self.node.text() or "").split())


@dataclass
class Table:
    """The cells that cover each slot of a table, by column and row, and its cells in order."""

    slots: dict[tuple[int, int], list[Cell]] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    height: int = 0

    def cover(self, cell: Cell, y: int) -> None:
        for x in range(cell.x, cell.x + cell.width):
            self.slots.setdefault((x, y), []).append(cell)

    def is_column_header(self, cell: Cell) -> bool:
        scope = cell.node.attrs.get("scope")
        if scope in {"col", "row"}:
            return scope == "col"
        rows = range(cell.y, cell.y + cell.height)
        return all(
            other.is_header
            for (_, y), covering in self.slots.items()
            if y in rows
            for other in covering
        )


def headers(tree: LexborHTMLParser) -> dict[int, str | None]:
    """The texts of the column headers of all cells of a page, by the identity of the cell."""
    told: dict[int, str | None] = {}
    for node in tree.css("table"):
        table = _formed(node)
        for cell in table.cells:
            told[cell.node.mem_id] = " ".join(_texts(table, cell)) or None
    return told


def _formed(node: LexborNode) -> Table:
    table = Table()
    groups = [group for group in node.iter() if group.tag in {"thead", "tbody", "tfoot"}]
    for group in sorted(groups, key=lambda group: group.tag == "tfoot"):
        _process_row_group(table, group)
    return table


def _process_row_group(table: Table, group: LexborNode) -> None:
    growing: list[Cell] = []
    y = table.height
    for row in group.iter():
        if row.tag == "tr":
            table.height = max(table.height, y + 1)
            _grow(table, growing, y)
            _process_row(table, row, y, growing)
            y += 1
    for below in range(y, table.height):
        _grow(table, growing, below)


def _grow(table: Table, growing: list[Cell], y: int) -> None:
    """The steps "growing downward-growing cells"."""
    for cell in growing:
        cell.height += 1
        table.cover(cell, y)


def _process_row(table: Table, row: LexborNode, y: int, growing: list[Cell]) -> None:
    x = 0
    for node in row.iter():
        while (x, y) in table.slots:
            x += 1
        rows = _number(node, "rowspan")
        cell = Cell(node, x, y, _number(node, "colspan") or 1, rows or 1)
        table.height = max(table.height, y + cell.height)
        table.cells.append(cell)
        for covered in range(y, y + cell.height):
            table.cover(cell, covered)
        if rows == 0:
            growing.append(cell)
        x += cell.width


def _number(cell: LexborNode, name: str) -> int | None:
    match = re.match("[0-9]+", cell.attrs.get(name) or "")
    return None if match is None else int(match.group())


def _texts(table: Table, cell: Cell) -> list[str]:
    texts: list[Cell] = []
    for x in range(cell.x, cell.x + cell.width):
        texts += [header for header in _scan(table, cell, x) if header not in texts]
    texts.sort(key=lambda header: (header.y, header.x))
    return [header.text for header in texts if header.text]


def _scan(table: Table, principal: Cell, x: int) -> list[Cell]:
    """The steps "scan and assign header cells", upwards in one column."""
    cells: list[Cell] = []
    opaque: list[Cell] = []
    in_block = principal.is_header
    of_block = [principal] if in_block else []
    for y in range(principal.y - 1, -1, -1):
        covering = table.slots.get((x, y), [])
        if len(covering) != 1:
            continue
        (current,) = covering
        if current.is_header:
            in_block = True
            of_block.append(current)
            blocked = any((each.x, each.width) == (current.x, current.width) for each in opaque)
            if not blocked and table.is_column_header(current) and current not in cells:
                cells.append(current)
        elif in_block:
            in_block = False
            opaque += of_block
            of_block = []
    return [header for header in cells if header is not principal]
