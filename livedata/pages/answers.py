"""What a page answers: HTML of a template, or the same as JSON; and errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import msgspec
from flask import Response, g, render_template, request
from werkzeug.exceptions import HTTPException

from livedata.api.auth import COOKIE
from livedata.api.queries import NoSuchId
from livedata.api.responses import (
    Internal,
    PayloadTooLarge,
    error_body,
    http_error_response,
    log_failure,
    reply,
    status_of,
)
from livedata.model.errors import Damaged, LivedataError, NotFound
from livedata.model.ids import DatasetId, raw_id
from livedata.pages.markup import filters
from livedata.pages.paging import address
from livedata.pages.visits import YEAR, Forged, Misdirected, context, form_token, remember

if TYPE_CHECKING:
    from livedata.services.whats_new import Trouble


class NoSuchPage(NotFound):
    """There is no page at this address: it was deleted, or belongs to somebody else."""


class OnlyForms(LivedataError):
    """Nothing but a form leads to this address: go to its page, and send it from there."""

    code = "only_forms"


_DENSITY: Final = "livedata-density"
_OWN_STATUSES: dict[type[LivedataError], int] = {Misdirected: 421, Forged: 403, OnlyForms: 405}
_BY_HTTP_STATUS: dict[int, type[LivedataError]] = {
    404: NoSuchPage,
    405: OnlyForms,
    413: PayloadTooLarge,
}


def page(
    template: str,
    *,
    data: Callable[[], Mapping[str, object]] | None = None,
    status: int = 200,
    more: str | None = None,
    back: str | None = None,
    **values: Any,
) -> Response:
    """A page; `more` is the address of the one that follows, `back` of the one before; or None.

    `data` makes what the page shows, in the shapes of the API, for whoever asks with ?as=json.
    """
    if data is not None and wants_json():
        return reply(msgspec.json.encode({**data(), "next": more, "previous": back}))
    density = _density()
    # What a form has led to has no address of its own.
    linked = data is not None and request.method == "GET"
    made = render_template(
        template,
        owner=None if g.caller is None else g.caller.owner,
        status=status,
        token=form_token(),
        as_json=address(**{"as": "json"}) if linked else None,
        density=density,
        denser=address(density="roomy" if density else "compact"),
        more=more,
        back=back,
        **filters.for_a_page(),
        **{"trouble_before": _trouble_before, **values},
    )
    response = Response(made, status, mimetype="text/html")
    if "density" in request.args:
        remember(response, density or "roomy", seconds=YEAR, name=_DENSITY)
    return response


def _trouble_before(dataset: str) -> Trouble | None:
    """The last Run of a dataset that is over, if it was not accepted."""
    # A server starts without it: a twentieth of the imports of `serve` is for this alone.
    from livedata.services.whats_new import trouble_of

    db = g.get("db")
    return None if db is None else trouble_of(db, g.caller.owner, DatasetId(raw_id(dataset)))


def _density() -> str | None:
    """How close the rows of a table stand, by the address or as chosen before; None for roomy."""
    wished = request.args.get("density") or request.cookies.get(_DENSITY)
    return "compact" if wished == "compact" else None


def wants_json() -> bool:
    """Whether what a page shows is asked for as JSON."""
    return request.args.get("as") == "json"


def sentences(error: LivedataError) -> str:
    """What an error says, with what may help."""
    return str(error_body(error)["error"]["message"])


def refused(error: LivedataError) -> Response:
    """The page for an error: its sentence, and what to do."""
    status = _OWN_STATUSES.get(type(error)) or status_of(error)
    if wants_json():
        return reply(error_body(error), status)
    return page("error.html", status=status, message=sentences(error))


def unlisted(error: HTTPException) -> Response:
    """The page for what Flask refuses: an unknown path or method, or a form that is too large."""
    kind = _BY_HTTP_STATUS.get(error.code or 500)
    if kind is not None:
        return refused(kind())
    return page("error.html", status=error.code or 500, message=error.description or error.name)


def unrouted(error: HTTPException) -> Response:
    """The answer where no page and no endpoint is: a page for a browser, JSON for a program."""
    kinds = request.accept_mimetypes
    if request.blueprint is not None or kinds["text/html"] <= kinds["application/json"]:
        return http_error_response(error)
    g.visit = request.cookies.get(COOKIE, "")
    answer = unlisted(error)
    answer.headers.extend(header for header in error.get_headers() if header[0] == "Allow")
    return answer


def failed(error: Exception) -> Response:
    """The page for an error that nobody expected: only the log says more."""
    log_failure(error, context().store)
    return refused(Internal())


HANDLERS: dict[type[Exception], Callable[[Any], Response]] = {
    LivedataError: refused,
    # Who reads a page follows links, and does not write ids.
    NoSuchId: lambda error: refused(error if wants_json() else NoSuchPage()),
    HTTPException: unlisted,
    Damaged: failed,
    Exception: failed,
}
