"""The headers of cells, found as HTML says it: by slots, each cell looking upwards from its own.

https://html.spec.whatwg.org/multipage/tables.html: slow, and close to its text, as a witness. Of
two cells in one slot, which is an error of the page, the later one counts.
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
    """The slots of a table, by column and row, and its cells in order."""

    slots: dict[tuple[int, int], Cell] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)

    def add(self, cell: Cell) -> None:
        self.cells.append(cell)
        for x in range(cell.x, cell.x + cell.width):
            for y in range(cell.y, cell.y + cell.height):
                self.slots[x, y] = cell

    def is_column_header(self, cell: Cell) -> bool:
        scope = cell.node.attrs.get("scope")
        if scope in {"col", "row"}:
            return scope == "col"
        # Of the cells, not of the slots: a data cell that shares its slot with a header is there.
        return all(
            other.is_header
            for other in self.cells
            if other.y < cell.y + cell.height and cell.y < other.y + other.height
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
    y = 0
    for group in sorted(groups, key=lambda group: group.tag == "tfoot"):
        rows = [row for row in group.iter() if row.tag == "tr"]
        end = y + len(rows)
        for row in rows:
            x = 0
            for cell in row.iter():
                while (x, y) in table.slots:
                    x += 1
                width = _number(cell, "colspan") or 1
                down = _number(cell, "rowspan")
                height = end - y if down == 0 else min(down or 1, end - y)
                table.add(Cell(cell, x, y, width, height))
            y += 1
    return table


def _number(cell: LexborNode, name: str) -> int | None:
    match = re.match("[0-9]+", cell.attrs.get(name) or "")
    return None if match is None else int(match.group())


def _texts(table: Table, cell: Cell) -> list[str]:
    found: list[Cell] = []
    for x in range(cell.x, cell.x + cell.width):
        found += [header for header in _scan(table, cell, x) if header not in found]
    found.sort(key=lambda header: (header.y, header.x))
    return [header.text for header in found if header.text]


def _scan(table: Table, principal: Cell, x: int) -> list[Cell]:
    """The steps "scan and assign header cells", upwards in one column."""
    found: list[Cell] = []
    opaque: list[Cell] = []
    in_block = principal.is_header
    of_block = [principal] if in_block else []
    for y in range(principal.y - 1, -1, -1):
        current = table.slots.get((x, y))
        if current is None:
            continue
        if current.is_header:
            in_block = True
            of_block.append(current)
            blocked = any((one.x, one.width) == (current.x, current.width) for one in opaque)
            if not blocked and table.is_column_header(current) and current not in found:
                found.append(current)
        elif in_block:
            in_block = False
            opaque += of_block
            of_block = []
    return [header for header in found if header is not principal]
