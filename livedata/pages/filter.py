"""What is seen of a table: the clauses that its rows have to meet, their order, and its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args
from urllib.parse import urlencode

from flask import g, request
from markupsafe import Markup
from msgspec import Struct, ValidationError, json
from werkzeug.datastructures import MultiDict
from werkzeug.wrappers import Response

from livedata.messages.conditions import in_words
from livedata.model import ids
from livedata.model.dataset import (
    CELL_TYPES,
    WORDED,
    Column,
    ColumnType,
    Dataset,
    columns_by_id,
    words,
)
from livedata.model.errors import BadRequest, Invalid
from livedata.model.ids import DatasetId
from livedata.model.row import RowStatus, Scalar
from livedata.pages.markup.plot import share
from livedata.pages.paging import NO_PLACE, address, malformed
from livedata.pages.visits import YEAR, remember
from livedata.rules.changes.edits import parse_value
from livedata.rules.conditions.clauses import (
    ROW_KEY,
    STATE_OPERATORS,
    WITHOUT_VALUE,
    StateClause,
)
from livedata.rules.conditions.parsing import example_clause, parse_where, write_clause
from livedata.services.pages.facets import Facet, Facets, facets
from livedata.services.pages.table import PageCursor, TableQuery
from livedata.store.shown_rows import Line

KEY: Final = "Key of the row"
"""What a reader calls that of which a clause says ``rowKey``."""
_OF_ALL: Final = ("=", "!=", "is empty", "is not empty")
"""The operators that each type has."""
_MEANT: Final[Mapping[str, str]] = {"yes": "true", "no": "false"}
"""What the pages call these values -> what a clause does."""
_SENT: Final = dict.fromkeys(("filter", "operator", "value", "values"))
"""What the form says beside the clauses that stand in the address already."""
_NO_COLUMN: Final = "Choose a column."
STATUSES: Final[tuple[RowStatus, ...]] = get_args(RowStatus)
ONLY: Final = {"stale": "edits whose source has moved", "unreadable": "unreadable cells"}
_LONGEST_SEARCH: Final = 200
_GAP: Final = "…"
"""Stands where the value goes."""
NEWEST: Final = "updated"
"""The column by which a table is sorted that is sorted by no other."""
COLUMNS: Final = "livedata-columns"
"""The cookie of the columns that were chosen."""
_FEW: Final = 6
"""A column of at most so many values is worth to be counted,"""
_SUGGESTED: Final = 3
"""and so many such columns are offered."""


class Chip(Struct, frozen=True):
    """A clause that narrows the table: its text, what it says, and the address without it."""

    text: str
    words: str
    without: str


class ShownFacet(Struct, frozen=True):
    """A value of a column, or a range from `low` to below `high`, as pages call it, with a bar.

    `to` narrows the table to it, if that is new.
    """

    facet: Facet
    said: str | None
    low: str
    high: str
    drawn: Markup
    to: str | None


class TypedClause(Struct, frozen=True):
    """What the form of a filter was sent with, and why it adds no clause; empty for nothing."""

    column: str = ""
    operator: str = ""
    value: str = ""
    wrong: str = ""


class TableFilter(Struct, frozen=True):
    """The clauses in the address of a table, and what its form says.

    `states` is what the clauses mean; `wrong` says what is wrong with one of them, which is
    `amiss`. `leads_to` is the address that the form leads to, with the clause that it adds, which
    is `added`.
    """

    columns: Sequence[Column]
    texts: Sequence[str]
    states: Sequence[StateClause] = ()
    wrong: str = ""
    amiss: str = ""
    typed: TypedClause = TypedClause()
    leads_to: str = ""
    added: str = ""

    @classmethod
    def of(cls, given: MultiDict[str, str], columns: Sequence[Column]) -> TableFilter:
        """Read the address of a page. Raises BadRequest for a column that there is not."""
        texts = [*dict.fromkeys(filter(None, map(str.strip, given.getlist("where"))))]
        typed = TypedClause(
            *(given.get(name, "").strip() for name in ("filter", "operator", "value"))
        )
        if typed.column not in {"", ROW_KEY, *(column["id"] for column in columns)}:
            raise malformed("filter", "is no column of this dataset", "the table")
        try:
            states = parse_where(texts, columns).states
        except Invalid as error:
            amiss = next((text for text in texts if _fault(text, columns)), "")
            return cls(columns, texts, (), error.message, amiss, typed)
        asks_values = "values" in given
        if asks_values and any(typed.column == column["id"] for column in columns):
            return cls(columns, texts, states, typed=typed, leads_to=_values_of(typed))
        if not typed.operator or not (typed.column or typed.value or asks_values):
            return cls(columns, texts, states, typed=typed)
        clause, wrong = ("", _NO_COLUMN) if asks_values else _added(texts, typed, columns)
        said = TypedClause(typed.column, typed.operator, typed.value, wrong)
        to = "" if wrong else address(**_SENT, where=[*dict.fromkeys([*texts, clause])], **NO_PLACE)
        added = "" if wrong else clause
        return cls(columns, texts, states, typed=said, leads_to=to, added=added)

    @property
    def options(self) -> list[str]:
        """What asks for the same on the command line."""
        return [option for state in self.states for option in ("--where", state.text)]

    @property
    def chips(self) -> list[Chip]:
        """The clauses, each with the address of the table without it."""
        meant = {state.text: state for state in self.states}
        columns = columns_by_id(self.columns)
        chips = []
        for text in self.texts:
            state, others = meant.get(text), [each for each in self.texts if each != text]
            words = text if state is None else _says(state, columns)
            chips.append(Chip(text, words, address(where=others, **NO_PLACE)))
        return chips

    @property
    def subjects(self) -> list[tuple[str, str]]:
        """What a clause may be about: the id of each column, and its label."""
        # A clause with that word is about such a column, so that nothing asks for the key then.
        key = [] if any(each["name"] == ROW_KEY for each in self.columns) else [(ROW_KEY, KEY)]
        return [*((column["id"], column["label"]) for column in self.columns), *key]

    @property
    def kind(self) -> ColumnType | None:
        """The type of the column that was chosen; None if none was."""
        types = {column["id"]: column["type"] for column in self.columns}
        return types.get(self.typed.column, "string" if self.typed.column else None)

    @property
    def operators(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """The operators in words, by what they are for; only those of the column, if one is."""
        if self.kind is not None:
            return [("", [(each, _words(self.kind, each)) for each in STATE_OPERATORS[self.kind]])]
        # The key is a text.
        types = {column["type"] for column in self.columns} | {"string"}
        alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
        for kind in (kind for kind in CELL_TYPES if kind in types):
            own = (each for each in STATE_OPERATORS[kind] if each not in _OF_ALL)
            offered = tuple((each, _words(kind, each)) for each in own)
            alike.setdefault(offered, []).append(CELL_TYPES[kind].called)
        groups = [(f"Of {' or '.join(called)}", [*own]) for own, called in alike.items() if own]
        return [("Of any cell", [(each, _words("string", each)) for each in _OF_ALL]), *groups]

    @property
    def example(self) -> str:
        """A clause that is right."""
        return example_clause(self.columns)


def chips_of(asked: TableFilter, wish: TableQuery) -> list[Chip]:
    """All that narrows the table, each with the address of the table without it."""
    others = (
        ("search", wish.search, f"contains “{wish.search}”"),
        ("status", wish.status, f"{wish.status} rows"),
        ("only", wish.stale, ONLY["stale"]),
        ("only", wish.unreadable, ONLY["unreadable"]),
    )
    told = [
        Chip("", words, address(**{name: None}, **NO_PLACE))
        for name, is_on, words in others
        if is_on
    ]
    return [*asked.chips, *told]


def sorting(wish: TableQuery, columns: Sequence[Column]) -> Mapping[str, tuple[str, str]]:
    """Column -> how the table is sorted by it, for a reader, and the address that sorts by it.

    What is sorted by no column has its newest rows first.
    """
    unsorted = address(sort=None, order=None, **NO_PLACE)
    by = f"{unsorted}{'&' if '?' in unsorted else '?'}sort="
    others = {
        each: ("none", f"{by}{each}") for each in ("rowKey", *(each["id"] for each in columns))
    }
    newest = {NEWEST: ("none" if wish.sort else "descending", unsorted)}
    if wish.sort is None:
        return {**others, **newest}
    if wish.descending:
        own = "descending", unsorted
    else:
        own = "ascending", address(order="down", **NO_PLACE)
    return {**others, **newest, wish.sort: own}


def chosen_columns(columns: Sequence[Column]) -> frozenset[str]:
    """The columns that a person wishes to see, by the address or as chosen before; none for all."""
    wished = request.args.getlist("column") or request.cookies.get(COLUMNS, "").split(".")
    chosen = frozenset(column["id"] for column in columns if column["id"] in wished)
    return frozenset() if len(chosen) == len(columns) else chosen


def keep_columns(chosen: frozenset[str], response: Response) -> Response:
    """Let the browser keep for this page which columns were chosen."""
    if "column" in request.args:
        kept, seconds = ".".join(sorted(chosen)), YEAR if chosen else 0
        remember(response, kept, seconds=seconds, name=COLUMNS, path=request.path)
    return response


def wish_of(given: Mapping[str, str], dataset: Dataset) -> TableQuery:
    """What the address of a page asks for. Raises BadRequest."""
    sort = given.get("sort") or None
    if sort not in {None, "rowKey", *(column["id"] for column in dataset["columns"])}:
        raise _malformed("sort", "is no column of this dataset")
    status = given.get("status") or None
    if status not in {None, *STATUSES}:
        raise _malformed("status", f"is none of {', '.join(STATUSES)}")
    only = given.get("only") or None
    if only not in {None, *ONLY}:
        raise _malformed("only", f"is none of {', '.join(ONLY)}")
    search = given.get("search", "").strip()
    if len(search) > _LONGEST_SEARCH:
        raise _malformed("search", f"is longer than {_LONGEST_SEARCH} characters")
    return TableQuery(
        sort,
        given.get("order") == "down",
        search,
        status,
        stale=only == "stale",
        unreadable=only == "unreadable",
        after=None if "before" in given else _place("after", given, sort),
        before=_place("before", given, sort),
    )


def _place(name: str, given: Mapping[str, str], sort: str | None) -> PageCursor | None:
    try:
        place = json.decode(given[name], type=PageCursor) if name in given else None
        if place is not None:
            ids.raw_id(place.row)
            if sort is None:  # newest first
                ids.parse_timestamp(str(place.by))
    except (ValidationError, ValueError, RecursionError) as error:
        raise _malformed(name, "is no end of a page") from error
    return place


def _malformed(name: str, problem: str) -> BadRequest:
    return malformed(name, problem, "the table")


def _values_of(typed: TypedClause) -> str:
    """The address of the table with the values of a column; a clause that is begun is kept."""
    # Without an operator it is not added yet.
    begun = {"operator": None} if typed.value else _SENT
    return address(**{**begun, "values": None, "facet": typed.column})


def told_elsewhere(shown: Dataset, asked: TableFilter, columns: Sequence[str]) -> dict[str, Any]:
    """What leads to a share of a view, and to a notice of it: its clauses and its columns."""
    texts = [state.text for state in asked.states]
    view = [("columns", name) for name in columns]
    share = urlencode([*(("where", text) for text in texts), *view])
    tell = urlencode([("dataset", shown["id"]), *(("when", text) for text in texts), *view])
    path = f"/datasets/{shown['id']}/shares"
    return {"share": f"{path}?{share}" if share else path, "tell": f"/notices?{tell}"}


def _added(texts: Sequence[str], typed: TypedClause, columns: Sequence[Column]) -> tuple[str, str]:
    """The clause that a form adds to others, and what is wrong with it; empty for nothing."""
    names = {column["id"]: (column["name"], column["type"]) for column in columns}
    if not typed.column:
        return "", _NO_COLUMN
    name, kind = names.get(typed.column, (ROW_KEY, "string"))
    value = "" if typed.operator in WITHOUT_VALUE else typed.value
    if kind == "boolean":
        value = _MEANT.get(value.lower(), value)
    clause = write_clause(name, typed.operator, value)
    try:
        parse_where([*texts, clause], columns)
    except Invalid as error:
        return clause, error.message
    return clause, ""


def shown_facets(told: Facets, asked: TableFilter) -> list[ShownFacet]:
    """The values of a column, each with the address of the table that is narrowed to it."""
    most = max((facet.rows for facet in told.facets), default=0)
    shown = []
    for facet in told.facets:
        value = None if facet.value is None else _said(told.column, facet.value)
        low, high = (_said(told.column, end) for end in (facet.low, facet.high))
        texts = [*dict.fromkeys([*asked.texts, *facet.clauses])]
        is_new = len(texts) > len(asked.texts) and facet.rows
        to = address(where=texts, **NO_PLACE) if is_new and _are_right(texts, asked) else None
        shown.append(ShownFacet(facet, value, low, high, share(facet.rows, most), to))
    return shown


def facets_of(dataset: DatasetId, asked: TableFilter, wish: TableQuery) -> Facets | None:
    """How the rows spread over the values of the column that is asked for. Raises BadRequest."""
    field = request.args.get("facet")
    if field and all(field != column["id"] for column in asked.columns):
        raise malformed("facet", "is no column of this dataset", "the table")
    if not field or asked.wrong:
        return None
    return facets(g.db, g.caller.owner, dataset, wish, field)


def facets_shown(
    told: Facets | None, asked: TableFilter, few: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """The values of a column for a page, what leads away from them, and to those of a `few`."""
    if told is None:
        return {"told": None, "few": few}
    shown = {"facets": shown_facets(told, asked), "unfacet": address(facet=None)}
    return {"told": told, "few": few, **shown}


def few_valued(columns: Sequence[Column], lines: Sequence[Line]) -> list[tuple[str, str]]:
    """The labels of columns in which few values stand in many rows, and what tells of each."""
    few: list[tuple[str, str]] = []
    for column in columns:
        if len(few) < _SUGGESTED and _says_little(column["id"], lines):
            few.append((column["label"], address(facet=column["id"], **_SENT)))
    return few


def _says_little(field: str, lines: Sequence[Line]) -> bool:
    if not lines:
        return False
    place, values = lines[0].fields.positions[field], set[Scalar]()
    for line in lines:
        values.add(line.values[place])
        if len(values) > _FEW:
            return False
    return 1 < len(values - {None}) <= len(lines) // 2


def _are_right(texts: Sequence[str], asked: TableFilter) -> bool:
    """Whether a value can be asked for at all: some are too long, or have too many digits."""
    try:
        parse_where(texts, asked.columns)
    except Invalid:
        return False
    return True


def _fault(text: str, columns: Sequence[Column]) -> str:
    try:
        parse_where([text], columns)
    except Invalid as error:
        return error.message
    return ""


def _says(state: StateClause, columns: Mapping[str, Column]) -> str:
    """A clause as a reader would say it."""
    if state.field is None:
        return f"{KEY} {in_words(state.type, state.operator, state.written)}"
    column = columns[state.field]
    value = _said(column, state.written)
    return f"{column['label']} {in_words(state.type, state.operator, value)}"


def _said(column: Column, written: str) -> str:
    """What pages call the value that a clause has."""
    if column["type"] not in WORDED or not written:
        return written
    try:
        return words(parse_value(column, written), column["type"])
    except Invalid:  # a clause may have a larger number than a cell can
        return written


def _words(kind: ColumnType, operator: str) -> str:
    return in_words(kind, operator, _GAP)
