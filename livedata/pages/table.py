"""A dataset: how it is doing, and its table as a person wishes to see it."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from html import escape
from typing import Any, Final

from flask import Response, g, redirect, request
from markupsafe import Markup
from msgspec import json
from msgspec.structs import replace
from werkzeug.wrappers import Response as AnyResponse

from livedata.api.queries import identified
from livedata.api.tables import rows_answer, streamed
from livedata.formats.forms import EXPORT_FORMS, MENU_FORMS, ROW_FORMS, TableForm
from livedata.hints import Subject
from livedata.messages.templates import joined
from livedata.model.dataset import Column, ColumnType, Dataset, is_numeric
from livedata.model.errors import Invalid, NotFound
from livedata.model.ids import DatasetId
from livedata.model.row_name import RowName
from livedata.pages.answers import page
from livedata.pages.datasets import STRIP, fires_shown, skipped_fires
from livedata.pages.filter import (
    NEWEST,
    ONLY,
    STATUSES,
    TableFilter,
    chips_of,
    chosen_columns,
    facets_of,
    facets_shown,
    few_valued,
    keep_columns,
    sorting,
    told_elsewhere,
    wish_of,
)
from livedata.pages.markup.filters import beginning, cell, listed, listed_moment, named
from livedata.pages.markup.plot import DrawnColumn, plot, strip
from livedata.pages.paging import NO_PLACE, address, malformed
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.fires import timetable
from livedata.services.pages.facets import Facets
from livedata.services.pages.history import last_ends, of_rows, of_table
from livedata.services.pages.table import (
    ON_A_PAGE,
    PageCursor,
    TablePage,
    TableQuery,
    every_row,
    full_rows,
    rows_on_a_page,
    table_page,
)
from livedata.services.served_tables import ServedTable, TableView, state_of_table
from livedata.store import datasets
from livedata.store.database.store import Database
from livedata.store.shown_rows import Line
from livedata.store.shown_runs import RunEnd

_ELSEWHERE: Final = joined(
    [form.title for form in EXPORT_FORMS.values() if not form.in_menu and not form.without]
)
"""The forms that a shell alone gives of a view."""
_PLAIN: Final = re.compile(r"[\w-]+", re.ASCII)
"""What stands in an attribute without quotes."""
_KEPT: Final = 90
"""A browser keeps no cookie of more columns: their address names them."""
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
    named_by = queries.label_column(g.db, owner, raw)
    wish = _wish(asked, shown, named_by)
    told = facets_of(raw, asked, wish)
    table = TablePage([], None) if asked.wrong else _rows(raw, wish, told)
    (ends,) = last_ends(g.db, owner, [raw], STRIP)
    fires = fires_shown(timetable(g.db, raw, shared.zone))
    offered = _beside_names(shown["columns"], table.lines, named_by)
    chosen = chosen_columns(offered)
    if "columns" in request.args:
        return _columns_chosen(chosen)
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
        **_columns(offered, chosen, drawn, named_by),
        **_story(raw, ends),
        **_files(shown, asked, _in_view(shown, offered, chosen)),
        **_paged(table, wish, asked),
        **_narrowing(wish, asked, shown),
        **facets_shown(told, asked, few_valued(offered, table.lines)),
        **fires,
    )
    return keep_columns(chosen, answer)


def _columns_chosen(chosen: frozenset[str]) -> AnyResponse:
    """Lead to the table, whose address is short: the browser keeps which columns were chosen."""
    column = None if len(chosen) <= _KEPT else sorted(chosen)
    to = address(columns=None, column=column, **NO_PLACE)
    return keep_columns(chosen, redirect(to, 303))


def _drawn(dataset: DatasetId, columns: Sequence[Column], lines: Sequence[Line]) -> DrawnColumn:
    """What is drawn beside the numbers of a column, if one is asked for. Raises BadRequest."""
    field = request.args.get("line")
    if not field:
        return DrawnColumn()
    column = next((each for each in _drawable(columns) if each["id"] == field), None)
    if column is None:
        raise malformed("line", "is no column of numbers", "the table")
    points = of_rows(g.db, g.caller.owner, dataset, field, lines)
    return DrawnColumn(field, column["type"], points)


def _drawable(columns: Sequence[Column]) -> list[Column]:
    return [column for column in columns if is_numeric(column) and not column["key"]]


def _shown_columns(offered: Sequence[Column], chosen: Collection[str]) -> list[Column]:
    return [column for column in offered if not chosen or column["id"] in chosen]


def _wish(asked: TableFilter, shown: Dataset, named_by: Column | None) -> TableQuery:
    """What the page shows of the table: as many rows as its columns leave room for."""
    # It is not known yet what research calls the rows, and so which columns stand beside that.
    beside = _beside_names(shown["columns"], (), named_by)
    most = rows_on_a_page(len(_shown_columns(beside, chosen_columns(beside))))
    return replace(wish_of(request.args, shown), where=asked.states, most=most)


def _columns(
    offered: Sequence[Column],
    chosen: Collection[str],
    drawn: DrawnColumn,
    named_by: Column | None,
) -> dict[str, Any]:
    """The heads of the table, and what its columns may be chosen from."""
    columns = _shown_columns(offered, chosen)
    return {
        "labels": [(column["id"], column["label"]) for column in columns],
        "offered": offered,
        "chosen": chosen,
        "drawable": _drawable(columns),
        "drawn_column": drawn.field,
        "named_by": named_by["id"] if named_by else "rowKey",
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
        "files": {
            form.title: address(f"{request.path}/rows.{form.name}", **NO_PLACE)
            for form in MENU_FORMS
        },
        "elsewhere": _ELSEWHERE,
        "export": about.command("dataset export", name, options=asked.options),
        **told_elsewhere(shown, asked, columns),
    }


def _paged(table: TablePage, wish: TableQuery, asked: TableFilter) -> dict[str, Any]:
    """The rows of a page, what leads on and back from them, and how many they are if few."""
    more, back = _page_at("after", table.end), _page_at("before", table.start)
    fewer = wish.most if wish.most < ON_A_PAGE and (more or back) else None
    # One page with all rows tells how many of them are gone.
    is_whole = not (asked.texts or wish.is_narrowed or more or back)
    gone = sum(line.presence == "missing" for line in table.lines) if is_whole else 0
    return {"table": table, "more": more, "back": back, "fewer": fewer, "gone": gone}


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
    stuck = skipped_fires(g.db, g.caller.owner, [dataset]).get(dataset)
    return {"strip": strip(ends), "stuck": stuck, "drawn": plot(of_table(ends))}


def _choosing() -> dict[str, Any]:
    """What leads to rows that are chosen to be edited, and whether they are chosen here."""
    edit = request.args.get("edit")
    if not edit:
        return {"edit": None, "choose": address(edit="rows")}
    # By links, so that all rows of a page are chosen without a script.
    every, choose = address(edit="all"), address(edit="rows")
    return {"edit": edit, "stop": address(edit=None), "every": every, "choose": choose}


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
    return streamed(store, store.at_one_moment(), partial(_written, raw, ROW_FORMS[form]))


def _written(dataset: DatasetId, form: TableForm, db: Database) -> Response:
    table = _served(db, dataset)
    # A workbook keeps a text a text; of CSV a spreadsheet makes formulas.
    response = rows_answer(table, form, {"gone": True, "safe": form.makes_formulas})
    name = f"{table.dataset.name}.{form.name}"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


def _served(db: Database, dataset: DatasetId) -> ServedTable:
    """The table that the page shows, with the rows of all of its pages. Raises Invalid."""
    owner = g.caller.owner
    shown = queries.dataset(db, owner, dataset)
    asked = TableFilter.of(request.args, shown["columns"])
    if asked.wrong:
        raise Invalid(asked.wrong)
    wish = replace(wish_of(request.args, shown), where=asked.states, after=None, before=None)
    chosen = chosen_columns(shown["columns"])
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
        "chips": chips_of(asked, wish),
        "statuses": STATUSES,
        "only": ONLY,
        "sorting": sorting(wish, shown["columns"]),
        "newest": NEWEST,
        **_choosing(),
    }


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
    if not lines:
        return Markup()
    writer = _RowWriter(lines[0].fields.positions, columns, path, named_by, drawn)
    return Markup("\n".join([writer.row(line, edit) for line in lines]))  # noqa: S704  (escaped)


class _RowWriter:
    """Writes the rows of a page: what all of them have alike is put together once."""

    def __init__(
        self,
        positions: Mapping[str, int],
        columns: Sequence[Column],
        path: str,
        named_by: Column | None,
        drawn: DrawnColumn,
    ) -> None:
        self._places = [positions[column["id"]] for column in columns]
        self._types = [column["type"] for column in columns]
        self._shown_at = {place: index for index, place in enumerate(self._places)}
        self._drawn, self._drawn_at = drawn, positions.get(drawn.field or "", -1)
        self._named_by = named_by
        self._named_at = None if named_by is None else positions[named_by["id"]]
        # A page has thousands of cells: each ends where the next one begins, as HTML has it.
        self._moments: dict[str, str] = {}
        self._form = (
            f'<tr%s>%s<th scope="row"><a href="{path}/rows/%s">%s</a>%s'
            f"{''.join(map(_begin, columns))}<td>%s<td>%s</tr>"
        )

    def row(self, line: Line, edit: str | None) -> str:
        """A row, with a box where rows are chosen to edit them."""
        values, is_gone = line.values, line.presence == "missing"
        # What is gone is struck out, and that an element is; its row has all of a long text.
        write = partial(cell, written=beginning) if is_gone else listed
        cells = [*map(write, map(values.__getitem__, self._places), self._types)]
        if line.missing or line.was or line.edited or self._drawn_at >= 0:
            self._mark_cells(line, cells)
        name = RowName(line.alias, line.key) if line.alias else line
        return self._form % (
            " class=gone" if is_gone else "",
            _box(line, edit) if edit else "",
            line.id,
            named(name),
            self._of_name(line),
            *cells,
            # Most rows are unchanged: the others are to be seen.
            "" if line.status == "unchanged" else line.status,
            self._moment(line.updated_at),
        )

    def _moment(self, timestamp: str) -> str:
        # The rows of a Run share it.
        if timestamp not in self._moments:
            self._moments[timestamp] = listed_moment(timestamp)
        return self._moments[timestamp]

    def _mark_cells(self, line: Line, cells: list[str]) -> None:
        """Say of cells why they are empty, what changed there, and how their number developed."""
        shown_at = self._shown_at
        for place, reason in line.missing.items():
            if place in shown_at and line.values[place] is None:
                cells[shown_at[place]] = cell(None, reason=reason)
        for place in {*line.was, *line.edited}:
            if place in shown_at:
                cells[shown_at[place]] += _mark(line, place, self._types[shown_at[place]])
        if self._drawn_at in shown_at:
            place = shown_at[self._drawn_at]
            # Not by +, by which markup would escape the HTML before it.
            cells[place] = f"{cells[place]}{self._drawn.beside(line.id)}"

    def _of_name(self, line: Line) -> str:
        """What is told of the cell that names a row: why it is empty, what changed there last."""
        place, column = self._named_at, self._named_by
        # Where research found the names, that cell has a place of its own.
        if place is None or column is None or line.alias:
            return ""
        is_marked = place in line.was or place in line.edited
        mark = _mark(line, place, column["type"]) if is_marked else ""
        if line.values[place] is not None:
            return mark
        why = cell(None, reason=line.missing.get(place))
        return f' <span class="mark">{escape(column["label"])}: {why}</span>{mark}'


def _begin(column: Column) -> str:
    """How the cells of a column begin, and the place of what they say."""
    number = " class=number" if is_numeric(column) else ""
    label = column["label"]
    quoted = label if _PLAIN.fullmatch(label) else f'"{escape(label)}"'
    return f"<td{number} data-label={quoted.replace('%', '%%')}>%s"


def _box(line: Line, edit: str) -> str:
    """The cell of what chooses a row; its form stands above the table."""
    told = f'<span class="unseen">Choose {escape(line.alias or str(line))}</span>'
    checked = " checked" if edit == "all" and line.presence != "missing" else ""
    box = f'<input type="checkbox" form="chosen" name="row" value="{line.id}"{checked}>'
    return f'<td class="pick"><label>{box}{told}</label></td>'


def _mark(line: Line, place: int, kind: ColumnType) -> str:
    """What stands beside a cell that changed last or was edited."""
    mark = ' <span class="mark">edited by hand</span>' if place in line.edited else ""
    # Under a hand edit the source may change, and what is shown does not.
    if place in line.was and line.was[place] != line.values[place]:
        mark += f' <span class="mark was">was <del>{listed(line.was[place], kind)}</del></span>'
    return mark
