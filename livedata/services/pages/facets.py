"""How the rows of a table spread over the values of a column: the most frequent ones, or ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_FLOOR, Context, Decimal
from heapq import nsmallest
from itertools import count as numbers
from itertools import pairwise
from typing import Any, Final, TypeAlias, cast

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.dataset import NUMERIC, Column, ColumnType, is_numeric
from livedata.model.ids import DatasetId, OwnerName, microseconds
from livedata.model.row import ALL_ROWS
from livedata.rules.conditions.clauses import Comparable
from livedata.rules.conditions.matching import as_compared
from livedata.rules.conditions.parsing import write_clause
from livedata.services.pages.table import COUNTED, Hits, Looking, TableQuery
from livedata.store import datasets
from livedata.store.database.store import Database
from livedata.store.shown_rows import count

MOST: Final = 20
"""So many values of a column are told, the most frequent ones."""
RANGES: Final = 10
"""Numbers and dates of more values are told in at most so many ranges."""
FEW: Final = 3
"""So few numbers are told one by one, though each stands once."""
_EXACT: Final = Context(prec=60)
"""No number that a clause can say has more digits."""
_DIGITS: Final = (1, 2, 5)
_PLAIN: Final = 20
"""A longer number is written with its power of ten."""
_DAYS: Final = (1, 2, 7, 14)
_MONTHS: Final = (1, 3, 6, *(12 * years for years in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)))
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Facet(Struct, frozen=True, rename="camel"):
    """A value of a column, or a range of it: how many rows have it, and the clauses that say so.

    A range is from its `low` end to below its `high` one, which is empty where it has none. Of the
    rows so many are `gone`.
    """

    clauses: Sequence[str]
    rows: int
    value: str | None = None
    low: str = ""
    high: str = ""
    gone: int = 0


class Facets(Struct, frozen=True, rename="camel"):
    """The values of a column in the rows that a query finds, as far as they were counted.

    `others` is how many values are not told, and `other_rows` in how many rows they stand. Of all
    rows so many are `gone`.
    """

    column: Column
    facets: Sequence[Facet]
    hits: Hits
    others: int = 0
    other_rows: int = 0
    gone: int = 0

    @property
    def singles(self) -> int:
        """How many values there are, if each stands once and they are told one by one; else 0."""
        told = [facet.rows for facet in self.facets if facet.value is not None]
        values = len(told) + self.others
        return values if values > 1 and values == sum(told) + self.other_rows else 0


def facets(
    db: Database, owner: OwnerName, dataset: DatasetId, query: TableQuery, field: str
) -> Facets:
    """The values of a column in all rows that a query finds, whatever page it is at.

    Raises NotFound.
    """
    counter: Counter[Comparable | None] = Counter()
    gone: Counter[Comparable | None] = Counter()
    with db.reading() as reader:
        fields = datasets.ref(reader, owner, dataset).fields
        column, place = fields.columns[field], fields.positions[field]
        looking = Looking(reader, dataset, fields, query, COUNTED)
        kind = column["type"]
        for row in looking.wanted():
            values = row.values
            # A row may be older than the last columns.
            value = as_compared(kind, values[place]) if place < len(values) else None
            counter[value] += 1
            if row.presence == "missing":
                gone[value] += 1
        total = count(reader, dataset, ALL_ROWS)
    hits = Hits(counter.total(), total, is_exact=not looking.is_cut)
    empty = counter.pop(None, 0)
    told = _told(column, cast("Counter[Comparable]", counter), empty, hits, gone)
    return replace(told, gone=gone.total())


def _told(
    column: Column,
    counter: Counter[Comparable],
    empty: int,
    hits: Hits,
    gone: Mapping[Comparable | None, int],
) -> Facets:
    clause = write_clause(column["name"], "is empty", "")
    nothing = [Facet([clause], empty, gone=gone.get(None, 0))] if empty else []
    edges = _EDGES.get(column["type"])
    if edges is not None and _are_many(column, counter):
        most = min(RANGES, len(counter))
        ranges = list(_ranges(column["name"], edges(counter, most), counter, gone))
        return Facets(column, [*ranges, *nothing], hits)
    # Of those that are as frequent the first in their order, so that a page says the same again.
    frequent = nsmallest(MOST, counter.items(), key=lambda each: (-each[1], each[0]))
    shown = [_value(column, value, rows, gone.get(value, 0)) for value, rows in frequent]
    rest = counter.total() - sum(facet.rows for facet in shown)
    return Facets(column, [*shown, *nothing], hits, len(counter) - len(shown), rest)


def _are_many(column: Column, counter: Counter[Comparable]) -> bool:
    """Whether ranges say more than values: of numbers that stand once each a list says nothing."""
    stand_once = is_numeric(column) and len(counter) == counter.total() > FEW
    return stand_once or len(counter) > RANGES


def _value(column: Column, value: Comparable, rows: int, gone: int) -> Facet:
    match column["type"]:
        case "boolean":
            said = "true" if value else "false"
        case "date":
            said = _moment(cast("int", value))
        case _:
            said = str(value)
    return Facet([write_clause(column["name"], "=", said)], rows, said, gone=gone)


def _moment(instant: int) -> str:
    moment = _EPOCH + timedelta(microseconds=instant)
    if moment.time() == time():
        return moment.date().isoformat()
    return moment.isoformat().replace("+00:00", "Z")


def _ranges(
    name: str,
    edges: Sequence[tuple[Comparable, str]],
    counter: Counter[Comparable],
    gone: Mapping[Comparable | None, int],
) -> Iterator[Facet]:
    """Ranges between edges that have all values, the lowest first."""
    places: list[Any] = [place for place, _ in edges]
    counts: Counter[int] = Counter()
    gone_counts: Counter[int] = Counter()
    for value, rows in counter.items():
        number = bisect_right(places, value) - 1
        counts[number] += rows
        gone_counts[number] += gone.get(value, 0)
    for number, ((_, begin), (_, end)) in enumerate(pairwise([*edges, (0, "")])):
        # Behind the last edge nothing is, where there is a number or a day for one.
        if end or counts[number]:
            upper = [write_clause(name, "<", end)] if end else []
            clauses = [write_clause(name, ">=", begin), *upper]
            ends = {"low": begin, "high": end}
            yield Facet(clauses, counts[number], **ends, gone=gone_counts[number])


def _number_edges(counter: Counter[Comparable], most: int) -> list[tuple[Comparable, str]]:
    """Where ranges of numbers begin, and how that is written; the last one is above all of them."""
    low, high = cast("Decimal", min(counter)), cast("Decimal", max(counter))
    first = _EXACT.subtract(high, low).adjusted() - 1
    for step in (Decimal((0, (digit,), power)) for power in numbers(first) for digit in _DIGITS):
        begin, end = (
            _EXACT.divide(each, step).to_integral_value(ROUND_FLOOR) for each in (low, high)
        )
        if end - begin < most:
            break
    edges = [_EXACT.multiply(begin + number, step) for number in range(int(end - begin) + 2)]
    return [(edge, _number(edge)) for edge in edges]


def _number(edge: Decimal) -> str:
    plain = f"{edge.normalize(_EXACT):f}" if edge else "0"
    return plain if len(plain) <= _PLAIN else str(edge.normalize(_EXACT))


def _date_edges(counter: Counter[Comparable], most: int) -> list[tuple[Comparable, str]]:
    """The same of days, months or years; above the last year there is no edge."""
    low, high = (_day(cast("int", each)) for each in (min(counter), max(counter)))
    # The first day of all is a Monday, as weeks begin.
    begin, end = ((each - date.min).days for each in (low, high))
    days = next((step for step in _DAYS if _ends(begin, end, step, most)), None)
    if days is not None:
        places = [days * number for number in range(begin // days, end // days + 2)]
        last = (date.max - date.min).days
        edges = [date.min + timedelta(days=each) for each in places if each <= last]
    else:
        first, last = (each.year * 12 + each.month - 1 for each in (low, high))
        step = next(step for step in _MONTHS if _ends(first, last, step, most))
        months = [step * number for number in range(first // step, last // step + 2)]
        edges = [
            date(max(1, each // 12), each % 12 + 1, 1)
            for each in months
            if each // 12 <= date.max.year
        ]
    return [(microseconds(datetime.combine(edge, time(), UTC)), edge.isoformat()) for edge in edges]


def _ends(first: int, last: int, step: int, most: int) -> bool:
    """Whether at most so many steps have both."""
    return last // step - first // step < most


def _day(instant: int) -> date:
    return (_EPOCH + timedelta(microseconds=instant)).date()


_Edges: TypeAlias = Callable[["Counter[Comparable]", int], list[tuple[Comparable, str]]]
_EDGES: Final[Mapping[ColumnType, _Edges]] = {
    **dict.fromkeys(NUMERIC, _number_edges),
    "date": _date_edges,
}
"""Where ranges of the values of a type begin; the values of others are told one by one."""
