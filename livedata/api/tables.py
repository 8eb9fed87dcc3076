"""A table as a file that is read from an address, in every form (interface 6.4).

Whoever knows ``/share/{token}/{name}.{form}`` reads the table there, without a key, and nothing
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Generic, TypeAlias, TypeVar

from flask import Blueprint, Response, current_app, g, request
from msgspec import Struct
from werkzeug.wsgi import wrap_file

from livedata.api.auth import meet
from livedata.api.endpoints import AppContext
from livedata.api.queries import Parameter, integer, names, read_query, switch, text, texts
from livedata.api.responses import entity_tag, failing_inside, is_known, log_failure, not_modified
from livedata.formats.parquet_writer import write_parquet
from livedata.formats.table_layout import TableLayout, no_formulas
from livedata.formats.text_lines import csv_text, json_lines, json_table
from livedata.formats.xlsx_writer import write_xlsx
from livedata.model.errors import BadRequest, Detail, Invalid, NotFound
from livedata.model.row import Row, Scalar
from livedata.rules.conditions.clauses import LONGEST_CLAUSE
from livedata.services import shares
from livedata.services.moments import LONGEST_WHEN
from livedata.services.served_tables import (
    HEADINGS,
    Served,
    ServedChanges,
    ServedQuery,
    ServedTable,
    serve_changes,
    serve_table,
)
from livedata.store.database.backend import Reader
from livedata.store.database.store import Store
from livedata.store.shares import Scope

Question: TypeAlias = Mapping[str, Any]
"""The value of each of `PARAMETERS`, by name."""
Kind = TypeVar("Kind", bound=Served)
Opened = TypeVar("Opened")
_LINE_END: Final = "\r\n"  # RFC 4180
_ABOUT_MOMENT: Final = "a moment with its zone, a day, a sequence, or the id of a Run"
_OF_ROWS: Final = (
    text("at", f"The table as it was then: {_ABOUT_MOMENT}.", LONGEST_WHEN),
    switch("gone", "1 adds the rows that are gone."),
)
_OF_CHANGES: Final = (
    integer("after", "Only the changes after this sequence.", 0),
    text("since", f"Only the changes since then: {_ABOUT_MOMENT}.", LONGEST_WHEN),
)
PARAMETERS: Final[Sequence[Parameter]] = (
    texts("where", "Only rows of which this holds, such as price < 20.", LONGEST_CLAUSE),
    names("columns", "Only these columns, in this order, with commas between them."),
    switch("safe", "1 puts an apostrophe before a text that a spreadsheet takes for a formula."),
    *_OF_ROWS,
    *_OF_CHANGES,
)
"""What may be asked of a table at its address."""
WHEN: Final = texts("when", "Only changes that meet this, such as price falls.", LONGEST_CLAUSE)
"""Which changes are asked for; taken with a key alone."""


class TableForm(Struct, Generic[Kind], frozen=True):
    """A form of a table; `tells_state` says that the state of the table is in the body."""

    media_type: str
    write: Callable[[Kind, Question], Response]
    tells_state: bool = False


def answer(
    store: Store, opened: Callable[[Reader], Scope], form: str, asked: Question, zone: str
) -> Response:
    """A table in a form of `FORMS`, as far as the scope that is opened lets it be read.

    All of it is of one moment: its rows are read while they are sent. Raises NotFound, BadRequest
    for a question that is wrong, FormUnavailable, and Conflict for a scope that the table no longer
    fits.
    """

    def answered(reader: Reader) -> Response:
        scope = opened(reader)
        try:
            return _answered(reader, scope, form, asked, zone)
        except Invalid as error:
            raise BadRequest(error.message, error.details, error.remedies) from None

    return streamed(store, store.reading(), answered)


def streamed(
    store: Store, transaction: AbstractContextManager[Opened], make: Callable[[Opened], Response]
) -> Response:
    """A response that is made in a transaction, which lasts until all of it is sent."""
    with ExitStack() as stack:
        response = make(stack.enter_context(transaction))
        if response.is_streamed and not response.direct_passthrough:
            # The request is over for Flask before its rows are read.
            response.response = _logged(response.iter_encoded(), store, g.request_id)
            response.call_on_close(stack.pop_all().close)
    return response


def _answered(reader: Reader, scope: Scope, form: str, asked: Question, zone: str) -> Response:
    query = ServedQuery(asked["columns"], asked["where"], asked.get("when", ()))
    if form in ROW_FORMS:
        table = serve_table(reader, scope, query, asked["at"], zone)
        _refuse(asked, (*_OF_CHANGES, WHEN), "is for the forms of changes, such as .changes.csv")
        return _response(table, ROW_FORMS[form], asked)
    after, since = asked["after"], asked["since"]
    changes = serve_changes(reader, scope, query, after, since, zone)
    _refuse(asked, _OF_ROWS, "is for the forms of rows, such as .csv")
    return _response(changes, CHANGE_FORMS[form], asked)


def rows_file(table: ServedTable, form: str, asked: Question) -> Response:
    """The rows of a table in a form of `ROW_FORMS`."""
    return _response(table, ROW_FORMS[form], asked)


def _refuse(asked: Question, parameters: Sequence[Parameter], why: str) -> None:
    """Raise BadRequest for a parameter that another form takes."""
    for parameter in parameters:
        if asked.get(parameter.name, parameter.default) != parameter.default:
            raise BadRequest(f"{parameter.name} {why}.", (Detail(parameter.name, why),))


def _response(served: Kind, form: TableForm[Kind], asked: Question) -> Response:
    state = served.state
    tag = entity_tag((served.version, *((state,) if form.tells_state else ())))
    if is_known(tag):
        response = not_modified()
    elif request.method == "HEAD":
        response = Response(content_type=form.media_type)
        # How long the body is is not known before it is read.
        response.automatically_set_content_length = False
    else:
        response = form.write(served, asked)
        response.content_type = form.media_type
    response.set_etag(tag)
    keep_private(response)
    response.headers["X-Livedata-State"] = state.state
    response.headers["X-Livedata-Through"] = str(served.through)
    if state.observed_at is not None:
        response.headers["X-Livedata-Observed"] = state.observed_at
    if served.view.dropped:
        response.headers["X-Livedata-Dropped"] = ", ".join(served.view.dropped)
    return response


def keep_private(response: Response) -> Response:
    """The same: no cache that others share may keep it, as its address may be a secret."""
    response.headers["Cache-Control"] = "private, no-cache"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _logged(pieces: Iterable[bytes], store: Store, request_id: str) -> Iterator[bytes]:
    """The same pieces; what goes wrong meanwhile is in the log, and ends the connection."""
    try:
        yield from pieces
    except Exception as error:
        log_failure(error, store, request_id)
        raise


def _csv(table: ServedTable, asked: Question) -> Response:
    layout = table.view.layout(safe=asked["safe"])
    return Response(csv_text(layout.names, _values(table, layout, asked), line_end=_LINE_END))


def _json(table: ServedTable, asked: Question) -> Response:
    layout = table.view.layout(safe=asked["safe"])
    head = {
        "columns": layout.names,
        "through": table.through,
        "state": table.state.state,
        "observedAt": table.state.observed_at,
    }
    return Response(json_table(head, _values(table, layout, asked)))


def _json_lines(table: ServedTable, asked: Question) -> Response:
    layout = table.view.layout(safe=asked["safe"])
    return Response(json_lines(layout.names, _values(table, layout, asked)))


def _values(table: ServedTable, layout: TableLayout, asked: Question) -> Iterator[list[Scalar]]:
    return map(layout.values, table.rows(gone=asked["gone"]))


WriteFile: TypeAlias = "Callable[[Iterable[Row], TableLayout, dict[str, object], Path], int]"


def _file(write: WriteFile) -> Callable[[ServedTable, Question], Response]:
    def written(table: ServedTable, asked: Question) -> Response:
        layout = table.view.layout(safe=asked["safe"])
        with TemporaryDirectory() as folder:
            path = Path(folder) / "table"
            write(table.rows(gone=asked["gone"]), layout, table.about, path)
            size = path.stat().st_size
            # It lives without a name until it is sent.
            file = path.open("rb")
        response = Response(wrap_file(request.environ, file), direct_passthrough=True)
        response.content_length = size
        return response

    return written


def _changes_csv(changes: ServedChanges, asked: Question) -> Response:
    return Response(csv_text(HEADINGS, _lines(changes, asked), line_end=_LINE_END))


def _changes_json_lines(changes: ServedChanges, asked: Question) -> Response:
    return Response(json_lines(HEADINGS, _lines(changes, asked)))


def _lines(changes: ServedChanges, asked: Question) -> Iterator[Sequence[Scalar]]:
    lines = changes.lines()
    return map(no_formulas, lines) if asked["safe"] else lines


_CSV: Final = "text/csv; charset=utf-8"
_JSON_LINES: Final = "application/x-ndjson"
ROW_FORMS: Final[Mapping[str, TableForm[ServedTable]]] = {
    "json": TableForm("application/json", _json, tells_state=True),
    "csv": TableForm(_CSV, _csv),
    "jsonl": TableForm(_JSON_LINES, _json_lines),
    "parquet": TableForm("application/vnd.apache.parquet", _file(write_parquet)),
    "xlsx": TableForm(
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", _file(write_xlsx)
    ),
}
CHANGE_FORMS: Final[Mapping[str, TableForm[ServedChanges]]] = {
    "changes.csv": TableForm(_CSV, _changes_csv),
    "changes.jsonl": TableForm(_JSON_LINES, _changes_json_lines),
}
FORMS: Final[Sequence[str]] = (*ROW_FORMS, *CHANGE_FORMS)
MEDIA_TYPES: Final = tuple(
    dict.fromkeys(
        [
            *(form.media_type for form in ROW_FORMS.values()),
            *(form.media_type for form in CHANGE_FORMS.values()),
        ]
    )
)
"""The media types of all forms, that of JSON first."""


def blueprint() -> Blueprint:
    """The route of the addresses that need no key."""
    routes = Blueprint("shares", __name__, url_prefix="/share")
    # What is refused too: the address that was asked for may be one all the same.
    routes.after_request(keep_private)
    routes.add_url_rule("/<token>/<name>", "table", _table, provide_automatic_options=False)
    return routes


def _table(token: str, name: str) -> Response:
    context: AppContext = current_app.extensions["livedata"]
    # The name is for people; what follows its first point is the form.
    form = name.partition(".")[2]
    with failing_inside():
        try:
            asked = _question(form)
        except (NotFound, BadRequest):
            # To a stranger there is no table, whatever else is wrong.
            with context.store.reading() as reader:
                shares.open_share(reader, token)
            raise
        return answer(context.store, partial(_opened, token), form, asked, context.zone)


def _question(form: str) -> Question:
    if form not in FORMS:
        raise NotFound(f"There is no form {form[:20]!r}; there is: {', '.join(FORMS)}.")
    return read_query(PARAMETERS, request.query_string)


def _opened(token: str, reader: Reader) -> Scope:
    scope = shares.open_share(reader, token)
    meet(request.environ, scope.owner, "readers")
    return scope
