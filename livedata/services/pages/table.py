"""A page of a table: sorted, searched and narrowed as a person wishes, with its marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nlargest, nsmallest
from itertools import islice
from operator import itemgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.dataset import words
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId, OwnerName, RowId
from livedata.model.row import ALL_ROWS, Row, RowFilter, RowStatus, Scalar
from livedata.model.row_name import is_digest
from livedata.rules.conditions.clauses import Shown, StateClause
from livedata.rules.conditions.matching import holds
from livedata.store import datasets, rows
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields
from livedata.store.database.store import Database
from livedata.store.overrides import moved_in
from livedata.store.shown_rows import (
    CandidateRow,
    Line,
    candidates,
    count,
    lines,
    newest,
    newest_lines,
)

ON_A_PAGE: Final = 100
CELLS: Final = 1_200
"""About so many cells has a page of a wide table at most: as many as 12 columns have."""
_FEWEST: Final = 20
"""So many rows has a page of any table, if there are as many."""
_LONGEST: Final = 200
"""The characters of a text by which rows are sorted: a place in the list stands in an address."""
_LOOKED_AT: Final = 64 * 1024 * 1024
"""The characters that are looked at for one page: two of the largest Runs gather as much."""
COUNTED: Final = 16 * 1024 * 1024
"""The characters that are looked at to count what a query finds."""
_TOO_LONG: Final = (
    "This table has too much text to be sorted: more than 64 million characters would have to be "
    "read for a page. Show its newest rows, narrow them by status, or sort an export of it."
)

Sorting = Callable[[CandidateRow], Scalar]
"""What a row is sorted by."""
Place = tuple[Scalar, RowId]
"""Where a row stands in the list: what it is sorted by, and its id."""


class PageCursor(Struct, frozen=True):
    """The first or the last row of a page: what it was sorted by, and its id."""

    by: Scalar
    row: str


class TableQuery(Struct, frozen=True):
    """What a person wants to see of a table.

    `sort` is a field, ``rowKey`` or None for newest first; `search` a text that a row holds,
    `where` clauses that hold of its cells; `stale` leaves only rows with a hand edit whose source
    has moved since, `unreadable` those with a cell that could not be read. A page goes on `after`
    a place, or back `before` it, and has at most `most` rows. What is found is counted if
    `is_counted`.
    """

    sort: str | None = None
    descending: bool = False
    search: str = ""
    status: RowStatus | None = None
    stale: bool = False
    unreadable: bool = False
    after: PageCursor | None = None
    before: PageCursor | None = None
    where: Sequence[StateClause] = ()
    is_counted: bool = True
    most: int = ON_A_PAGE

    @property
    def only(self) -> RowFilter:
        """What the store can leave out by itself."""
        statuses = () if self.status is None else (self.status,)
        return RowFilter(statuses=statuses, unreadable=self.unreadable, edited=self.stale)

    @property
    def asks_of_cells(self) -> bool:
        """Whether rows have to be looked at to know which ones are wanted."""
        return bool(self.search or self.where or self.stale)

    @property
    def is_narrowed(self) -> bool:
        """Whether some rows of the table are not wanted."""
        return self.asks_of_cells or self.only != ALL_ROWS


class Hits(Struct, frozen=True, rename="camel"):
    """How many rows a query finds of all that its table has; at least so many if not `is_exact`."""

    rows: int
    of: int
    is_exact: bool = True


class TablePage(Struct, frozen=True):
    """The lines of a page, and the places from which one goes on and back.

    `hits` is None if all rows are wanted.
    """

    lines: Sequence[Line]
    end: PageCursor | None
    start: PageCursor | None = None
    hits: Hits | None = None


def rows_on_a_page(columns: int) -> int:
    """How many rows a page has at most that shows so many columns beside the names of rows."""
    return min(ON_A_PAGE, max(_FEWEST, CELLS // max(1, columns)))


def table_page(db: Database, owner: OwnerName, dataset: DatasetId, query: TableQuery) -> TablePage:
    """A page of the rows of a dataset; it may be short, or empty, where long texts are looked at.

    Raises NotFound, and Invalid for a table with too much text to be sorted.
    """
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        looking = Looking(reader, dataset, fields, query)
        stretch = looking.stretch()
        if query.before is not None and stretch.end is None:
            # Nothing stands further ahead: it is the first page, which is not to be a short one.
            looking = Looking(reader, dataset, fields, replace(query, before=None))
            stretch = looking.stretch()
        written = stretch.read
        if written is None:
            written = lines(reader, dataset, fields, [row for _, row in stretch.places])
        hits = looking.hits(stretch) if query.is_narrowed and query.is_counted else None
    return _page(looking.query, stretch, written, hits)


def _page(
    query: TableQuery, stretch: _Stretch, written: Sequence[Line], hits: Hits | None
) -> TablePage:
    places, end = stretch.places, stretch.end
    if len(written) < len(places):  # long texts may leave less room than there are rows
        end = places[len(written) - 1]
    far = None if end is None else _cursor(end)
    if query.before is not None:
        # What it goes back from follows it; where no row is wanted, what was looked at does.
        return TablePage(written[::-1], _cursor(places[0]) if places else far, far, hits)
    near = _cursor(places[0]) if places else query.after
    return TablePage(written, far, None if query.after is None else near, hits)


def _cursor(place: Place) -> PageCursor:
    return PageCursor(place[0], ids.format_uuid(place[1]))


def how_many(
    db: Database, owner: OwnerName, dataset: DatasetId, wanted: Iterable[Sequence[StateClause]]
) -> Iterator[int | None]:
    """How many rows that are there meet each of these; None beyond what may be looked at."""
    with db.reading() as reader:
        left, fields = COUNTED, datasets.ref(reader, owner, dataset).fields
        for where in wanted:
            looking = Looking(reader, dataset, fields, TableQuery(where=where), left)
            number = sum(row.presence == "present" for row in looking.wanted())
            yield None if looking.is_cut else number
            left -= looking.looked_at


def every_row(
    db: Database, owner: OwnerName, dataset: DatasetId, query: TableQuery
) -> Iterator[Row]:
    """All rows that a query finds, in its order, whatever page it is at.

    They are read while the transaction of `db` lasts. Raises NotFound, and Invalid for a table with
    too much text to be sorted.
    """
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        places = Looking(reader, dataset, fields, query).every()
        while together := list(islice(places, ON_A_PAGE)):
            yield from rows.of_ids(reader, dataset, fields, together)


def full_rows(
    db: Database, owner: OwnerName, dataset: DatasetId, wanted: Sequence[Line]
) -> list[Row]:
    """The rows of these lines, whole. Raises NotFound."""
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        return rows.of_ids(reader, dataset, fields, [RowId(ids.raw_id(line.id)) for line in wanted])


class _Stretch(NamedTuple):
    """Rows that follow each other from a place on, or stand before it, the nearest first.

    `end` is the place beyond which others may be: the last one that was looked at. Where their
    lines are read already, `places` has the first and the last one.
    """

    places: Sequence[Place]
    end: Place | None
    read: Sequence[Line] | None = None


class Looking:
    """What is found of a query in the rows of a table: no index has the texts of cells."""

    def __init__(
        self,
        reader: Reader,
        dataset: DatasetId,
        fields: Fields,
        query: TableQuery,
        most: int | None = None,
    ) -> None:
        self.query = query
        self._reader = reader
        self._dataset = dataset
        self._fields = fields
        self._searched = query.search.casefold()
        self._by = _sorting(fields, query)
        self._most = self._left = _LOOKED_AT if most is None else most
        self._matched = 0
        self.is_cut = False
        self.rows = 0
        asked = [clause.field for clause in query.where if clause.field is not None]
        self._types = {field: column["type"] for field, column in fields.columns.items()}
        self._places = [(field, fields.positions[field]) for field in dict.fromkeys(asked)]

    @property
    def looked_at(self) -> int:
        """How many characters were looked at."""
        return self._most - self._left

    def stretch(self) -> _Stretch:
        """The rows of a page. Raises Invalid."""
        return self._newest() if self.query.sort is None else self._sorted()

    def _newest(self) -> _Stretch:
        """They are found by the index of the store, however long the table is."""
        query, back = self.query, self.query.before is not None
        cursor = query.before if back else query.after
        place = None if cursor is None else (ids.parse_timestamp(str(cursor.by)), cursor.row)
        if not query.asks_of_cells:
            read, goes_on = newest_lines(
                *(self._reader, self._dataset, self._fields, query.only, place, query.most),
                back=back,
            )
            ends = [(line.updated_at, RowId(ids.raw_id(line.id))) for line in read[:1] + read[-1:]]
            return _Stretch(ends, ends[-1] if goes_on else None, read)
        return self._first_wanted(newest(self._reader, self._dataset, query.only, place, back=back))

    def _first_wanted(self, candidate_rows: Iterable[CandidateRow]) -> _Stretch:
        """The first of these rows that are wanted: as many as have room, and may be looked at."""
        last: CandidateRow | None = None
        places: list[Place] = []
        for row in candidate_rows:
            if self._left <= 0 and last is not None:
                return _Stretch(places, self._place(last))
            if self._wants(row):
                if len(places) == self.query.most:
                    return _Stretch(places, places[-1])
                places.append(self._place(row))
            last = row
        return _Stretch(places, None)

    def _sorted(self) -> _Stretch:
        """They are those after the place of the page before, or ahead of it. Raises Invalid."""
        query = self.query
        back = query.before is not None
        cursor = query.before if back else query.after
        placed = ((_order(*place, descends=query.descending), place) for place in self._matching())
        falls = query.descending != back
        if cursor is not None:
            end = _order(cursor.by, ids.raw_id(cursor.row), descends=query.descending)
            placed = (
                (value, place) for value, place in placed if (value < end if falls else value > end)
            )
        pick = nlargest if falls else nsmallest
        first = [place for _, place in pick(query.most + 1, placed, key=itemgetter(0))]
        shown = first[: query.most]
        return _Stretch(shown, shown[-1] if len(first) > len(shown) else None)

    def hits(self, stretch: _Stretch) -> Hits:
        """How many rows the query finds, of which a stretch has been read already."""
        query = self.query
        total = count(self._reader, self._dataset, ALL_ROWS)
        if not query.asks_of_cells:
            return Hits(count(self._reader, self._dataset, query.only), total)
        if query.sort is not None:
            return Hits(self._matched, total)
        if query.after is None and query.before is None and stretch.end is None:
            return Hits(len(stretch.places), total)
        counting = Looking(self._reader, self._dataset, self._fields, query, COUNTED)
        rows_found = sum(1 for _ in counting.wanted())
        return Hits(rows_found, total, is_exact=not counting.is_cut)

    def wanted(self) -> Iterator[CandidateRow]:
        """The rows that it finds, newest first; those that were looked at are counted in `rows`.

        `is_cut` says then whether that was all it may look at, and there are more.
        """
        for row in newest(self._reader, self._dataset, self.query.only):
            if self._left <= 0:
                self.is_cut = True
                return
            self.rows += 1
            if self._wants(row):
                yield row

    def every(self) -> Iterator[RowId]:
        """The rows of all pages. Raises Invalid."""
        descends = self.query.descending
        if self.query.sort is None:
            candidate_rows = newest(self._reader, self._dataset, self.query.only)
            return (row.id for row in candidate_rows if self._wants(row))
        places = ((_order(*place, descends=descends), place[1]) for place in self._matching())
        return (row for _, row in sorted(places, key=itemgetter(0), reverse=descends))

    def _matching(self) -> Iterator[Place]:
        """The place of each row: whole rows would be too much to hold."""
        for row in candidates(self._reader, self._dataset, self.query.only):
            if self._left <= 0:
                raise Invalid(_TOO_LONG)
            if self._wants(row):
                self._matched += 1
                yield self._place(row)

    def _place(self, row: CandidateRow) -> Place:
        return self._by(row), row.id

    def _wants(self, row: CandidateRow) -> bool:
        """Whether a person wishes to see a row; it has been looked at then."""
        self._left -= row.size
        if self.query.stale and not self._has_moved(row):
            return False
        if self.query.where and not holds(self.query.where, row.key, self._shown(row)):
            return False
        return not self._searched or self._holds(row)

    def _shown(self, row: CandidateRow) -> Shown:
        """The cells that are asked for."""
        values = row.values
        # A row may be older than the last columns.
        return {field: values[place] for field, place in self._places if place < len(values)}

    def _has_moved(self, row: CandidateRow) -> bool:
        hidden = self._fields.hidden
        edited = {place: kept for place, kept in row.edited.items() if place not in hidden}
        # Each of them is compared with what a revision of this row has.
        self._left -= row.size * len(edited)
        return any(moved_in(self._reader, row.id, edited))

    def _holds(self, row: CandidateRow) -> bool:
        # What names a row is one of its values.
        if not is_digest(row.key) and self._searched in row.key.casefold():
            return True
        cells, types = self._fields.cells(row.values), self._types
        texts = (words(value, types[field]) for field, value in cells.items() if value is not None)
        return any(self._searched in text.casefold() for text in texts)


def _order(value: Scalar, row: bytes, *, descends: bool) -> tuple[Any, ...]:
    """What rows are ordered by: their values; an empty cell comes last, and older rows first."""
    number = int.from_bytes(row)
    if descends:
        return value is not None, _rank(value), -number
    return value is None, _rank(value), number


def _sorting(fields: Fields, query: TableQuery) -> Sorting:
    """What a row is sorted by."""
    match query.sort:
        case None:
            # The rows that one Run wrote have its moment.
            moment = lru_cache(maxsize=256)(ids.format_timestamp)
            return lambda row: moment(row.updated_at)
        case "rowKey":
            name = fields.namer
            return lambda row: (name(row.key, row.values).name if is_digest(row.key) else row.key)[
                :_LONGEST
            ]
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
