"""A page of a table: sorted, searched and narrowed as a person wishes, with its marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.model import ids
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.row import Row, RowFilter, RowStatus, Scalar
from livedata.store import datasets, overrides, rows
from livedata.store.browsing.marks import Marks, marks
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database

ON_A_PAGE: Final = 100
_LONGEST: Final = 200
"""The characters of a text by which rows are sorted: a place in the list stands in an address."""


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
    """Rows with their marks, by id, and the place from which the next page goes on."""

    rows: Sequence[Row]
    marks: Mapping[str, Marks]
    end: Place | None


def table_page(db: Database, owner: OwnerName, dataset: DatasetId, wish: Wish) -> TablePage:
    """A page of the rows of a dataset. Raises NotFound."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        if wish.sort is None and not wish.search and not wish.stale:
            found = _newest(reader, dataset, fields, wish)
        else:
            found = _sorted(_wished(reader, dataset, fields, wish), wish)
        shown = found[:ON_A_PAGE]
        marked = marks(reader, dataset, fields, [row["id"] for row in shown])
    # One more than is shown tells whether there are more.
    more = len(found) > len(shown)
    end = Place(_sorted_by(shown[-1], wish), shown[-1]["id"]) if more else None
    return TablePage(shown, marked, end)


def _newest(reader: Reader, dataset: DatasetId, fields: Fields, wish: Wish) -> list[Row]:
    """By the index of the store, however long the table is."""
    after = wish.after
    before = None if after is None else (ids.parse_timestamp(str(after.by)), after.row)
    return rows.newest(reader, dataset, fields, ON_A_PAGE + 1, wish.only, before)


def _wished(reader: Reader, dataset: DatasetId, fields: Fields, wish: Wish) -> Iterator[Row]:
    """All rows that a person wishes to see: no index has the texts of cells."""
    searched = wish.search.casefold()
    moved = {each.row for each in overrides.moved(reader, dataset, fields)} if wish.stale else None
    for row in rows.in_order(reader, dataset, fields, wish.only):
        if (moved is None or row["id"] in moved) and (not searched or _holds(row, searched)):
            yield row


def _holds(row: Row, searched: str) -> bool:
    texts = (row["rowKey"], *row["data"].values())
    return any(searched in str(text).casefold() for text in texts if text is not None)


def _sorted(wished: Iterable[Row], wish: Wish) -> list[Row]:
    """The rows after the place of the page before, and no more than a page and one."""
    listed = sorted(wished, key=lambda row: row["id"])
    # Python sorts stably: rows that are equal stay by their ids. An empty cell comes last.
    listed.sort(key=lambda row: _rank(_sorted_by(row, wish)), reverse=_descends(wish))
    listed.sort(key=lambda row: _sorted_by(row, wish) is None)
    after = wish.after
    if after is None:
        return listed[: ON_A_PAGE + 1]
    begin = next((at for at, row in enumerate(listed) if _is_after(row, after, wish)), len(listed))
    return listed[begin : begin + ON_A_PAGE + 1]


def _descends(wish: Wish) -> bool:
    # Newest first is what a table has without a wish.
    return wish.descending if wish.sort is not None else True


def _is_after(row: Row, place: Place, wish: Wish) -> bool:
    """Whether a row stands behind a place, whether or not its row still stands there."""
    own = _sorted_by(row, wish)
    if own is None or place.by is None:
        return (own is None) > (place.by is None) or (
            own is None and place.by is None and row["id"] > place.row
        )
    mine, other = _rank(own), _rank(place.by)
    if mine == other:
        return row["id"] > place.row
    return (mine > other) != _descends(wish)


def _sorted_by(row: Row, wish: Wish) -> Scalar:
    if wish.sort is None:
        return row["updatedAt"]
    value = row["rowKey"] if wish.sort == "rowKey" else row["data"].get(wish.sort)
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
