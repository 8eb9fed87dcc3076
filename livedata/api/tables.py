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
from typing import Any, Final, TypeAlias, TypeVar

from flask import Blueprint, Response, current_app, g, request
from werkzeug.wsgi import wrap_file

from livedata.api.auth import meet
from livedata.api.endpoints import AppContext
from livedata.api.queries import Parameter, integer, names, read_query, switch, text, texts
from livedata.api.responses import entity_tag, failing_inside, is_known, log_failure, not_modified
from livedata.formats.forms import (
    CHANGE_FORMS,
    ROW_FORMS,
    TableForm,
    TextTable,
    text_pieces,
    write_file,
)
from livedata.formats.table_layout import no_formulas
from livedata.model.errors import BadRequest, Detail, Invalid, NotFound
from livedata.model.row import Scalar
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
FORMS: Final[Sequence[str]] = (*ROW_FORMS, *CHANGE_FORMS)
MEDIA_TYPES: Final = tuple(dict.fromkeys(form.media_type for form in ROW_FORMS.values()))
"""The media types of all forms, that of JSON first."""
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

    return streamed(store, store.reading(by_replica=True), answered)


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
        return rows_answer(table, ROW_FORMS[form], asked)
    after, since = asked["after"], asked["since"]
    changes = serve_changes(reader, scope, query, after, since, zone)
    _refuse(asked, _OF_ROWS, "is for the forms of rows, such as .csv")
    return _response(changes, CHANGE_FORMS[form], asked, _changes)


def rows_answer(table: ServedTable, form: TableForm, asked: Question) -> Response:
    """The rows of a table in a form of `ROW_FORMS`."""
    return _response(table, form, asked, _rows)


def _refuse(asked: Question, parameters: Sequence[Parameter], why: str) -> None:
    """Raise BadRequest for a parameter that another form takes."""
    for parameter in parameters:
        if asked.get(parameter.name, parameter.default) != parameter.default:
            raise BadRequest(f"{parameter.name} {why}.", (Detail(parameter.name, why),))


def _response(
    served: Kind,
    form: TableForm,
    asked: Question,
    write: Callable[[Kind, TableForm, Question], Response],
) -> Response:
    state = served.state
    tag = entity_tag((served.version, *((state,) if form.tells_state else ())))
    if is_known(tag):
        response = not_modified()
    elif request.method == "HEAD":
        response = Response(content_type=form.media_type)
        # How long the body is is not known before it is read.
        response.automatically_set_content_length = False
    else:
        response = write(served, form, asked)
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


def _rows(table: ServedTable, form: TableForm, asked: Question) -> Response:
    layout, rows = table.view.layout(safe=asked["safe"]), table.rows(gone=asked["gone"])
    if not form.is_text:
        return _sent(partial(write_file, form, rows, layout, table.about))
    state = table.state
    about = {"through": table.through, "state": state.state, "observedAt": state.observed_at}
    written = TextTable(layout.names, map(layout.values, rows), about, _LINE_END)
    return Response(text_pieces(form, written))


def _sent(write: Callable[[Path], object]) -> Response:
    """A file, which lives without a name until it is sent."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "table"
        write(path)
        size = path.stat().st_size
        file = path.open("rb")
    response = Response(wrap_file(request.environ, file), direct_passthrough=True)
    response.content_length = size
    return response


def _changes(changes: ServedChanges, form: TableForm, asked: Question) -> Response:
    lines: Iterable[Sequence[Scalar]] = changes.lines()
    rows = map(no_formulas, lines) if asked["safe"] else lines
    return Response(text_pieces(form, TextTable(HEADINGS, rows, line_end=_LINE_END)))


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
