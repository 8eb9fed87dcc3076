"""Rows of a table: some columns, some rows, an order, a page of them, and where the next begins."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import nlargest, nsmallest
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.mcp.access import DatasetAccess, OpenDataset
from livedata.mcp.answers import (
    LONGEST_CELL,
    Answer,
    compact,
    cut_cell,
    fit,
    no_cursor,
    read_cursor,
    write_cursor,
)
from livedata.messages.request import format_value, nearest
from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.row import Row, Scalar
from livedata.services.served_tables import ServedQuery, ServedTable, serve_table
from livedata.services.shares import check_names
from livedata.store.shares import Scope

KEY: Final = "rowKey"
"""The key of a row beside its columns, where no column is it."""
_LONGEST_RANK: Final = 1_000
"""By so many characters texts are put in order."""
_ORDER: Final = re.compile(
    r"(?P<sign>[-+]?)(?P<column>\w+)[\W_]*(?P<direction>(?:(?:asc|desc)\w*)?)", re.IGNORECASE
)
"""An order as it is written elsewhere."""
Cells = list[Scalar]
Rank = tuple[bool, bool, float | str]
Place = tuple[Rank, int]
"""The rank of a row and, for rows of one rank, its number: below 0 where the order descends."""


def query_rows(
    access: DatasetAccess,
    *,
    dataset: str,
    columns: Sequence[str] | None,
    where: Sequence[str] | None,
    order: str | None,
    when: str | None,
    gone: bool,
    limit: int,
    cursor: str | None,
) -> Answer:
    """Rows of a table, as many as an answer holds."""
    with access.opened(dataset) as opened:
        asked = compact([opened.id.hex(), columns, where, order, when, gone])
        # The next page is of the moment of the first, whatever was written meanwhile.
        moment, start = (when, 0) if cursor is None else _read_cursor(cursor, asked)

        def read() -> RowSelection:
            served = serve(opened, where or (), moment)
            is_all = not where and not gone and served.through == served.dataset.head
            total = opened.dataset()["rowCount"] if is_all else None
            return RowSelection(served, columns or (), gone=gone, total=total)

        page = read()
        if order is None:
            rows, more = page.of_site(start, limit)
            end = start + len(rows)
        else:
            rows, more, end = _in_order(page, read, order, start, limit)
        return {
            **opened.about(),
            "from_websites": True,
            "through": page.served.through,
            "columns": page.names,
            "rows": rows,
            "total": page.total,
            "next": _cursor(page.served.through, end, asked) if more else None,
        }


def _in_order(
    page: RowSelection, read: Callable[[], RowSelection], order: str, start: int, limit: int
) -> tuple[list[Cells], bool, int]:
    """Rows in an order, as many as fit, whether there are more, and where the next page begins."""
    sorting = Sorting.read(order, [column["name"] for column in page.readable])
    # Where the page before ended is a row and no count, so that no other one is held.
    numbers = page.next_by(sorting, _last(read, sorting, start), limit + 1)
    rows, more = fit(read().numbered(numbers), _cut, limit)
    return rows, more, numbers[len(rows) - 1] + 1 if rows else start


def serve(opened: OpenDataset, where: Sequence[str] = (), when: str | None = None) -> ServedTable:
    """The table of a dataset at a moment, with the rows of which clauses hold."""
    scope = Scope(opened.owner, opened.id)
    return serve_table(opened.reader, scope, ServedQuery((), where), when, opened.zone)


class Sorting(Struct, frozen=True):
    """In which order rows are wished: by a column, upwards or downwards."""

    column: str
    is_descending: bool

    @classmethod
    def read(cls, order: str, names: Sequence[str]) -> Sorting:
        """The order of ``COL``, ``COL asc`` or ``COL desc``. Raises Invalid."""
        known = [*names, KEY]
        column, _, direction = order.rpartition(" ")
        if column in known and direction.lower() in {"asc", "desc"}:
            return cls(column, direction.lower() == "desc")
        if order in known:
            return cls(order, is_descending=False)
        raise Invalid(
            f'order must be a column, alone or with "desc" behind it, such as '
            f"{_meant(order, known)!r}, not {format_value(order)}. There is: {', '.join(known)}."
        )

    def rank(self, cell: Scalar) -> Rank:
        """Where a cell stands: an empty one last in both directions, texts behind numbers."""
        if cell is None:
            return (not self.is_descending, False, 0)
        if isinstance(cell, str):
            return (self.is_descending, True, cell[:_LONGEST_RANK].casefold())
        return (self.is_descending, False, cell)


class RowSelection:
    """The rows that a question is about, and how many they are.

    `total` is known from the beginning if nothing narrows the table, and is counted otherwise.
    """

    def __init__(
        self,
        served: ServedTable,
        columns: Sequence[str],
        *,
        gone: bool = False,
        total: int | None = None,
    ) -> None:
        """The rows with these columns, or with all and what tells rows apart. Raises Invalid."""
        self.served, self.total = served, total or 0
        self._gone, self._is_counted = gone, total is None
        self.readable: Sequence[Column] = served.view.readable
        self._fields = {column["name"]: column["id"] for column in self.readable}
        check_names(columns, [*self._fields, KEY])
        self.names = list(dict.fromkeys(columns)) or self._all_names()

    def rows(self) -> Iterator[Cells]:
        """The cells of each row, in the order of the site."""
        return (self._cells(row) for row in self._counted())

    def of_site(self, start: int, limit: int) -> tuple[list[Cells], bool]:
        """Rows from the one of number `start` on, as many as fit; those behind are counted."""
        rows = self.rows()
        page = fit(islice(rows, start, None), _cut, limit)
        for _ in rows if self._is_counted else ():
            pass
        return page

    def place_of(self, sorting: Sorting, number: int) -> Place | None:
        """Where the row of a number stands in an order; None if there is no such row."""
        return next(islice(self._places(sorting), number, None), None)

    def next_by(self, sorting: Sorting, last: Place | None, most: int) -> list[int]:
        """The numbers of the first rows in an order, behind the one that stands at `last`."""
        # Of these rows only the places are held, however many rows there are.
        places = self._places(sorting)
        if sorting.is_descending:
            top = nlargest(most, (place for place in places if last is None or place < last))
        else:
            top = nsmallest(most, (place for place in places if last is None or place > last))
        return [abs(number) for _, number in top]

    def _places(self, sorting: Sorting) -> Iterator[Place]:
        for number, row in enumerate(self._counted()):
            rank = sorting.rank(self._cell(row, sorting.column))
            yield rank, -number if sorting.is_descending else number

    def numbered(self, numbers: Sequence[int]) -> Iterable[Cells]:
        """The rows of these numbers, in this order."""
        wanted = set(numbers)
        cells = {
            number: _cut(cells, LONGEST_CELL)
            for number, cells in enumerate(islice(self.rows(), max(wanted, default=-1) + 1))
            if number in wanted
        }
        return (cells[number] for number in numbers)

    def _all_names(self) -> list[str]:
        names = [*self._fields]
        is_key = sum(column["key"] for column in self.readable) == 1
        return names if is_key else [KEY, *names]

    def _counted(self) -> Iterator[Row]:
        for row in self.served.rows(gone=self._gone):
            self.total += self._is_counted
            yield row

    def _cells(self, row: Row) -> Cells:
        return [self._cell(row, name) for name in self.names]

    def _cell(self, row: Row, name: str) -> Scalar:
        # A row may be older than the last columns.
        return row["rowKey"] if name == KEY else row["data"].get(self._fields[name])


def _meant(order: str, known: Sequence[str]) -> str:
    """The order that was probably meant, in the form in which it is read."""
    match = _ORDER.fullmatch(order)
    column = match and nearest(match["column"], known)
    if match is None or column is None:
        return f"{known[0]} desc"
    # As other programs write it: -price, price:desc, price descending.
    is_descending = match["sign"] == "-" or match["direction"].lower().startswith("desc")
    return f"{column} desc" if is_descending else column


def _last(read: Callable[[], RowSelection], sorting: Sorting, start: int) -> Place | None:
    """Where the row before `start` stands in an order; None for the first page."""
    place = read().place_of(sorting, start - 1) if start else None
    if start and place is None:
        raise no_cursor()
    return place


def _cut(cells: Cells, most: int) -> Cells:
    return [cut_cell(cell, most) for cell in cells]


def _digest(asked: bytes) -> str:
    return hashlib.sha256(asked).hexdigest()[:16]


def _cursor(through: int, start: int, asked: bytes) -> str:
    return write_cursor([through, start, _digest(asked)])


def _read_cursor(cursor: str, asked: bytes) -> tuple[str, int]:
    match read_cursor(cursor):
        case [int(through), int(start), str(digest)] if digest == _digest(asked):
            if all(type(part) is int and 0 <= part < 2**63 for part in (through, start)):
                return str(through), start
    raise no_cursor()
