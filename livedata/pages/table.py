"""A dataset: how it is doing, and its table as a person wishes to see it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Final, get_args

from flask import Response, g, redirect, request
from markupsafe import Markup
from msgspec import ValidationError, json
from msgspec.structs import replace
from werkzeug.wrappers import Response as AnyResponse

from livedata.api.queries import identified
from livedata.api.tables import ROW_FORMS, rows_file, streamed
from livedata.hints import Subject
from livedata.messages.run_end import SKIPPED
from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.errors import BadRequest, Invalid, NotFound
from livedata.model.ids import DatasetId
from livedata.model.row import RowStatus
from livedata.model.row_name import RowName
from livedata.pages.answers import page
from livedata.pages.datasets import STRIP, skipped_fires
from livedata.pages.filter import TableFilter, facets_of, facets_shown, told_elsewhere
from livedata.pages.markup.filters import beginning, cell, moment, named
from livedata.pages.markup.plot import DrawnColumn, plot, strip
from livedata.pages.paging import NO_PLACE, address, malformed
from livedata.pages.visits import YEAR, at_one_moment, context, remember
from livedata.services import queries, rows
from livedata.services.fires import Timetable, timetable
from livedata.services.pages.facets import Facets
from livedata.services.pages.history import last_ends, of_rows, of_table
from livedata.services.pages.table import (
    PageCursor,
    TablePage,
    TableQuery,
    every_row,
    full_rows,
    table_page,
)
from livedata.services.served_tables import ServedTable, TableView, state_of_table
from livedata.store import datasets
from livedata.store.database.store import Database
from livedata.store.shown_rows import Line
from livedata.store.shown_runs import RunEnd

STATUSES: Final[tuple[RowStatus, ...]] = get_args(RowStatus)
FILES: Final = ("csv", "xlsx", "json")
"""The forms in which a view is offered as a file."""
ONLY: Final = {"stale": "edits whose source has moved", "unreadable": "unreadable cells"}
_LONGEST_SEARCH: Final = 200
_COLUMNS: Final = "livedata-columns"
MOST: Final = 12
"""No paper is wide enough for more columns: each cell of a wider table prints below its label."""


@at_one_moment
def show(dataset: str) -> AnyResponse:
    """The page of a dataset: how it is doing, and its rows."""
    raw, shared, owner = DatasetId(identified(dataset)), context(), g.caller.owner
    shown = queries.dataset(g.db, owner, raw)
    asked = TableFilter.of(request.args, shown["columns"])
    if asked.leads_to:
        return redirect(asked.leads_to, 303)
    wish = replace(_wish(request.args, shown), where=asked.states)
    told = facets_of(raw, asked, wish)
    table = TablePage([], None) if asked.wrong else _rows(raw, wish, told)
    (ends,) = last_ends(g.db, owner, [raw], STRIP)
    fires = _fires(timetable(g.db, raw, shared.zone))
    named_by = rows.label_column(g.db, owner, raw)
    offered = _beside_names(shown["columns"], table.lines, named_by)
    chosen = _chosen(offered)
    columns = _shown_columns(offered, chosen)
    drawn = _drawn(raw, shown["columns"], table.lines)
    answer = page(
        "table.html",
        data=lambda: {
            "data": full_rows(g.db, owner, raw, table.lines),
            "dataset": shown,
            "lastRuns": ends,
            **fires,
            **({} if told is None else {"facets": told}),
            **drawn.as_json,
        },
        dataset=shown,
        body=body(table.lines, columns, request.path, named_by, drawn, request.args.get("edit")),
        **_columns(offered, chosen, drawn),
        **_choosing(),
        named_by=named_by["id"] if named_by else "rowKey",
        **_story(raw, ends),
        **_files(shown, asked, _in_view(shown, offered, chosen)),
        **_paged(table),
        **_narrowing(wish, asked, shown),
        **facets_shown(told, asked),
        **fires,
    )
    return _kept(chosen, answer)


def _drawn(dataset: DatasetId, columns: Sequence[Column], lines: Sequence[Line]) -> DrawnColumn:
    """What is drawn beside the numbers of a column, if one is asked for. Raises BadRequest."""
    field = request.args.get("line")
    if not field:
        return DrawnColumn()
    if field not in {column["id"] for column in _drawable(columns)}:
        raise _wrong("line", "is no column of numbers")
    return DrawnColumn(field, of_rows(g.db, g.caller.owner, dataset, field, lines))


def _drawable(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if column["type"] == "number" and not column["key"]]


def _shown_columns(offered: Sequence[Column], chosen: Collection[str]) -> list[Column]:
    return [column for column in offered if not chosen or column["id"] in chosen]


def _columns(
    offered: Sequence[Column], chosen: Collection[str], drawn: DrawnColumn
) -> dict[str, Any]:
    """The heads of the table, and what its columns may be chosen from."""
    columns = _shown_columns(offered, chosen)
    return {
        "labels": [(column["id"], column["label"]) for column in columns],
        "offered": offered,
        "chosen": chosen,
        "drawable": _drawable(columns),
        "drawn_column": drawn.field,
    }


def _in_view(shown: Dataset, offered: Sequence[Column], chosen: Collection[str]) -> list[str]:
    """The names of the columns of a view; none if all are shown."""
    # What names the rows stands in each view.
    left_out = {column["id"] for column in offered if column["id"] not in chosen}
    names = [column["name"] for column in shown["columns"] if column["id"] not in left_out]
    return names if chosen else []


def _files(shown: Dataset, asked: TableFilter, columns: Sequence[str]) -> dict[str, Any]:
    """What leads to all rows of the view as a file, does so at a shell, and tells others of it."""
    about, name = Subject(g.caller.owner, shown["name"]), shown["name"]
    return {
        "files": {form: address(f"{request.path}/rows.{form}", **NO_PLACE) for form in FILES},
        "export": about.command("dataset export", name, options=asked.options),
        **told_elsewhere(shown, asked, columns),
    }


def _paged(table: TablePage) -> dict[str, Any]:
    """The rows of a page, and what leads on and back from them."""
    return {
        "table": table,
        "more": _page_at("after", table.end),
        "back": _page_at("before", table.start),
    }


def _rows(dataset: DatasetId, wish: TableQuery, told: Facets | None) -> TablePage:
    # Who counts values has counted the rows.
    return table_page(g.db, g.caller.owner, dataset, replace(wish, is_counted=told is None))


def _page_at(name: str, place: PageCursor | None) -> str | None:
    """The address of the page that begins after a place, or ends before it."""
    if place is None:
        return None
    return address(**{**NO_PLACE, name: json.encode(place).decode()})


def _story(dataset: DatasetId, ends: Sequence[RunEnd]) -> dict[str, Any]:
    """How the last Runs ended, whether the schedule starts one, and the rows over time."""
    stuck = skipped_fires(g.db, g.caller.owner).get(dataset)
    return {"strip": strip(ends), "stuck": stuck, "drawn": plot(of_table(ends))}


def _choosing() -> dict[str, Any]:
    """What leads to rows that are chosen to be edited, and whether they are chosen here."""
    edit = request.args.get("edit")
    if not edit:
        return {"edit": None, "choose": address(edit="rows")}
    # By links, so that all rows of a page are chosen without a script.
    every, none = address(edit="all"), address(edit="rows")
    return {"edit": edit, "stop": address(edit=None), "every": every, "none": none}


def _beside_names(
    columns: Sequence[Column], lines: Sequence[Line], named_by: Column | None
) -> list[Column]:
    """The columns that stand beside the names of the rows: not those that the names have.

    Where research found names, the cells of the key say what its page calls the row.
    """
    if any(line.alias for line in lines):
        return [*columns]
    return [column for column in columns if not column["key"] and column != named_by]


def as_file(dataset: str, form: str) -> Response:
    """The rows of all pages of a table, as it is narrowed, sorted and chosen, as a file."""
    if form not in ROW_FORMS:
        raise NotFound(f"There is no form {form[:20]!r}; there is: {', '.join(ROW_FORMS)}.")
    store, raw = context().store, DatasetId(identified(dataset))
    return streamed(store, store.at_one_moment(), partial(_written, raw, form))


def _written(dataset: DatasetId, form: str, db: Database) -> Response:
    table = _served(db, dataset)
    # A workbook keeps a text a text; of CSV a spreadsheet makes formulas.
    response = rows_file(table, form, {"gone": True, "safe": form == "csv"})
    name = f"{table.dataset.name}.{form}"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def _served(db: Database, dataset: DatasetId) -> ServedTable:
    """The table that the page shows, with the rows of all of its pages. Raises Invalid."""
    owner = g.caller.owner
    shown = queries.dataset(db, owner, dataset)
    asked = TableFilter.of(request.args, shown["columns"])
    if asked.wrong:
        raise Invalid(asked.wrong)
    wish = replace(_wish(request.args, shown), where=asked.states, after=None, before=None)
    chosen = _chosen(shown["columns"])
    columns = [each for each in shown["columns"] if not chosen or each["id"] in chosen]
    with db.reading() as reader:
        ref, state = datasets.ref(reader, owner, dataset), state_of_table(reader, dataset)
    return ServedTable(
        ref,
        ref.head,
        TableView(columns, columns, is_whole=True, states=(), dropped=()),
        state,
        (request.full_path, sorted(chosen), ref.head, repr(columns)),
        every_row(db, owner, dataset, wish),
    )


def _narrowing(wish: TableQuery, asked: TableFilter, shown: Dataset) -> dict[str, Any]:
    """What the form above the rows, and the heads of their columns, are filled with."""
    return {
        "wish": wish,
        "asked": asked,
        "narrowed": bool(asked.texts) or wish.is_narrowed,
        "statuses": STATUSES,
        "only": ONLY,
        "sorting": _sorting(wish, shown),
    }


def _chosen(columns: Sequence[Column]) -> frozenset[str]:
    """The columns that a person wishes to see, by the address or as chosen before; none for all."""
    wished = request.args.getlist("column") or request.cookies.get(_COLUMNS, "").split(".")
    return frozenset(column["id"] for column in columns if column["id"] in wished)


def _kept(chosen: frozenset[str], response: Response) -> Response:
    """Let the browser keep for this page which columns were chosen."""
    if "column" in request.args:
        kept, seconds = ".".join(sorted(chosen)), YEAR if chosen else 0
        remember(response, kept, seconds=seconds, name=_COLUMNS, path=request.path)
    return response


def _fires(planned: Timetable) -> dict[str, Any]:
    """The next fires, and those that were skipped, each with its reason."""
    return {
        "upcoming": [ids.format_timestamp(fire) for fire in planned.upcoming],
        "skipped": [
            (ids.format_timestamp(fire.fired_at), SKIPPED.get(fire.reason, fire.reason))
            for fire in planned.skipped
        ],
    }


def _wish(given: Mapping[str, str], dataset: Dataset) -> TableQuery:
    """What the address of a page asks for. Raises BadRequest."""
    sort = given.get("sort") or None
    if sort not in {None, "rowKey", *(column["id"] for column in dataset["columns"])}:
        raise _wrong("sort", "is no column of this dataset")
    status = given.get("status") or None
    if status not in {None, *STATUSES}:
        raise _wrong("status", f"is none of {', '.join(STATUSES)}")
    only = given.get("only") or None
    if only not in {None, *ONLY}:
        raise _wrong("only", f"is none of {', '.join(ONLY)}")
    search = given.get("search", "").strip()
    if len(search) > _LONGEST_SEARCH:
        raise _wrong("search", f"is longer than {_LONGEST_SEARCH} characters")
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
        raise _wrong(name, "is no end of a page") from error
    return place


def _wrong(name: str, problem: str) -> BadRequest:
    return malformed(name, problem, "the table")


def _sorting(wish: TableQuery, dataset: Dataset) -> Mapping[str, tuple[str, str]]:
    """Column -> how the table is sorted by it, for a reader, and the address that sorts by it."""
    columns = ("rowKey", *(column["id"] for column in dataset["columns"]))
    unsorted = address(sort=None, order=None, **NO_PLACE)
    by = f"{unsorted}{'&' if '?' in unsorted else '?'}sort="
    others = {column: ("none", f"{by}{column}") for column in columns}
    if wish.sort is None:
        return others
    if wish.descending:
        own = "descending", unsorted
    else:
        own = "ascending", address(order="down", **NO_PLACE)
    return {**others, wish.sort: own}


def body(
    lines: Sequence[Line],
    columns: Sequence[Column],
    path: str,
    named_by: Column | None,
    drawn: DrawnColumn,
    edit: str | None = None,
) -> Markup:
    """The rows of a table, named by a column or else by their keys; each has its page in `path`.

    Where rows are chosen to `edit` them, each has a box, which is checked if all are chosen.
    """
    places = [(column["id"], _begin(column)) for column in columns]
    written = [_row(line, places, path, named_by, drawn, edit) for line in lines]
    return Markup("\n".join(written))  # noqa: S704  (escaped)


def _begin(column: Column) -> str:
    number = ' class="number"' if column["type"] == "number" else ""
    return f'<td{number} data-label="{escape(column["label"])}">'


def _row(
    line: Line,
    places: Sequence[tuple[str, str]],
    path: str,
    named_by: Column | None,
    drawn: DrawnColumn,
    edit: str | None,
) -> str:
    data, missing = line.data, line.missing
    marks = {field: _mark(line, field) for field in {*line.edited, *line.was}}
    if drawn.field is not None:
        marks[drawn.field] = f"{marks.get(drawn.field, '')}{drawn.beside(line.id)}"
    # A long text is cut: the page of its row has all of it.
    cells = "".join(
        [
            f"{begin}{cell(data[field], missing.get(field), beginning)}{marks.get(field, '')}</td>"
            for field, begin in places
        ]
    )
    name = RowName(line.alias, line.key) if line.alias else line
    return (
        f"<tr{' class=gone' if line.presence == 'missing' else ''}>"
        f"{_box(line, edit) if edit else ''}"
        f'<th scope="row"><a href="{path}/rows/{line.id}">{named(name)}</a>'
        f"{_of_name(line, named_by, marks)}</th>{cells}"
        f"<td>{line.status}</td><td>{moment(line.updated_at)}</td></tr>"
    )


def _box(line: Line, edit: str) -> str:
    """The cell of what chooses a row; its form stands above the table."""
    told = f'<span class="unseen">Choose {escape(line.alias or str(line))}</span>'
    checked = " checked" if edit == "all" else ""
    box = f'<input type="checkbox" form="chosen" name="row" value="{line.id}"{checked}>'
    return f'<td class="pick"><label>{box}{told}</label></td>'


def _of_name(line: Line, named_by: Column | None, marks: Mapping[str, str]) -> str:
    """What is told of the cell that names a row: why it is empty, and what changed there last."""
    # Where research found the names, that cell has a place of its own.
    if named_by is None or line.alias:
        return ""
    field, mark = named_by["id"], marks.get(named_by["id"], "")
    if line.data[field] is not None:
        return mark
    why = cell(None, line.missing.get(field))
    return f' <span class="mark">{escape(named_by["label"])}: {why}</span>{mark}'


def _mark(line: Line, field: str) -> str:
    """What stands beside a cell that changed last or was edited."""
    mark = ' <span class="mark">edited by hand</span>' if field in line.edited else ""
    # Under a hand edit the source may change, and what is shown does not.
    if field in line.was and line.was[field] != line.data[field]:
        was = cell(line.was[field], written=beginning)
        mark += f' <span class="mark was">was <del>{was}</del></span>'
    return mark
