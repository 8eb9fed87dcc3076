"""A page of a table: sorted, searched and narrowed as a person wishes, with its marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from operator import itemgetter
from typing import Any, Final

from msgspec import Struct

from livedata.model import ids
from livedata.model.ids import DatasetId, OwnerName, RowId
from livedata.model.row import Row, RowFilter, RowStatus, Scalar
from livedata.services.browsing.words import words
from livedata.store import datasets, overrides, rows
from livedata.store.browsing.lines import Candidate, Line, candidates, lines, newest
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.research.identities import first_names

ON_A_PAGE: Final = 100
_LONGEST: Final = 200
"""The characters of a text by which rows are sorted: a place in the list stands in an address."""

Sorting = Callable[[Candidate], Scalar]
"""What a row is sorted by."""


class Place(Struct, frozen=True):
    """The last row of a page: what it was sorted by, and its id."""

    by: Scalar
    row: str


class Wish(Struct, frozen=True):
    """What a person wants to see of a table.

    `sort` is a field, ``rowKey`` or None for newest first; `search` a text that a row holds;
    `stale` leaves only rows with a hand edit whose source has moved since, `unreadable` those with
    a cell that could not be read.
    """

    sort: str | None = None
    descending: bool = False
    search: str = ""
    status: RowStatus | None = None
    stale: bool = False
    unreadable: bool = False
    after: Place | None = None

    @property
    def only(self) -> RowFilter:
        """What the store can leave out by itself."""
        statuses = () if self.status is None else (self.status,)
        return RowFilter(statuses=statuses, unreadable=self.unreadable)


class TablePage(Struct, frozen=True):
    """The lines of a page, and the place from which the next one goes on."""

    lines: Sequence[Line]
    end: Place | None


def table_page(db: Database, owner: OwnerName, dataset: DatasetId, wish: Wish) -> TablePage:
    """A page of the rows of a dataset. Raises NotFound."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        names = {}
        if wish.sort is None and not wish.search and not wish.stale:
            candidates = _newest(reader, dataset, wish)
        else:
            names = first_names(reader, dataset)
            wished = _wished(reader, dataset, fields, wish, names)
            candidates = _sorted(wished, wish, _sorting(fields, wish, names))
        # One more than is shown tells whether there are more.
        shown = candidates[:ON_A_PAGE]
        written = lines(reader, dataset, fields, [row.id for row in shown])
    if len(candidates) == len(shown):
        return TablePage(written, None)
    by = _sorting(fields, wish, names)(shown[-1])
    return TablePage(written, Place(by, ids.format_uuid(shown[-1].id)))


def full_rows(
    db: Database, owner: OwnerName, dataset: DatasetId, wanted: Sequence[Line]
) -> list[Row]:
    """The rows of these lines, whole. Raises NotFound."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        return rows.of_ids(reader, dataset, fields, [RowId(ids.raw_id(line.id)) for line in wanted])


def _newest(reader: Reader, dataset: DatasetId, wish: Wish) -> list[Candidate]:
    """By the index of the store, however long the table is."""
    after = wish.after
    before = None if after is None else (ids.parse_timestamp(str(after.by)), after.row)
    return newest(reader, dataset, wish.only, ON_A_PAGE + 1, before)


def _wished(
    reader: Reader, dataset: DatasetId, fields: Fields, wish: Wish, names: Mapping[str, str]
) -> Iterator[Candidate]:
    """All rows that a person wishes to see: no index has the texts of cells."""
    searched = wish.search.casefold()
    moved = {each.row for each in overrides.moved(reader, dataset, fields)} if wish.stale else None
    for row in candidates(reader, dataset, wish.only):
        if (moved is None or ids.format_uuid(row.id) in moved) and _holds(row, searched, names):
            yield row


def _holds(row: Candidate, searched: str, names: Mapping[str, str]) -> bool:
    values = (names.get(row.key, row.key), *row.values)
    return any(searched in words(value).casefold() for value in values if value is not None)


def _sorted(wished: Iterable[Candidate], wish: Wish, by: Sorting) -> list[Candidate]:
    """The rows after the place of the page before, and no more than a page and one."""
    # Newest first is what a table has without a wish.
    descends = wish.descending or wish.sort is None
    placed = ((_order(by(row), row.id, descends=descends), row) for row in wished)
    if wish.after is not None:
        end = _order(wish.after.by, ids.raw_id(wish.after.row), descends=descends)
        placed = ((at, row) for at, row in placed if (at < end if descends else at > end))
    first = nlargest if descends else nsmallest
    return [row for _, row in first(ON_A_PAGE + 1, placed, key=itemgetter(0))]


def _order(value: Scalar, row: bytes, *, descends: bool) -> tuple[Any, ...]:
    """What rows are ordered by: their values; an empty cell comes last, and older rows first."""
    number = int.from_bytes(row)
    if descends:
        return value is not None, _rank(value), -number
    return value is None, _rank(value), number


def _sorting(fields: Fields, wish: Wish, names: Mapping[str, str]) -> Sorting:
    """What a row is sorted by."""
    match wish.sort:
        case None:
            return lambda row: ids.format_timestamp(row.updated_at)
        case "rowKey":
            return lambda row: names.get(row.key, row.key)[:_LONGEST]
        case field:
            position = fields.positions[field]
            return lambda row: _shortened(row.values, position)


def _shortened(values: Sequence[Scalar], position: int) -> Scalar:
    # A row may be older than the last columns.
    value = values[position] if position < len(values) else None
    return value[:_LONGEST] if isinstance(value, str) else value


def _rank(value: Scalar) -> tuple[int, Any]:
    """Where a value stands: numbers before texts, since the type of a column may have changed."""
    match value:
        case None:
            return 2, ""
        case str():
            return 1, (value.casefold(), value)
        case _:
            return 0, value
