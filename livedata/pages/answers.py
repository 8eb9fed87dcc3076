"""What a page answers: HTML of a template, or the same as JSON; and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response, g, render_template, request
from werkzeug.exceptions import HTTPException

from livedata.api.responses import Internal, NoSuchPath, error_body, log, reply, status_of
from livedata.model.errors import Damaged, LivedataError
from livedata.pages.visits import Forged, Misdirected, form_token

_OWN_STATUSES: dict[type[LivedataError], int] = {Misdirected: 421, Forged: 403}


def page(template: str, *, data: object = None, status: int = 200, **values: Any) -> Response:
    """A page; with `data`, what it shows as the API answers it, for whoever asks with ?as=json.

    A function as `data` is called only then.
    """
    if data is not None and wants_json():
        return reply(data() if callable(data) else data)
    here = request.path
    made = render_template(
        template,
        owner=None if g.caller is None else g.caller.owner,
        status=status,
        token=form_token(),
        as_json=None if data is None else f"{here}?as=json",
        **values,
    )
    return Response(made, status, mimetype="text/html")


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
    if error.code == 404:
        return refused(NoSuchPath())
    return page("error.html", status=error.code or 500, message=error.description or error.name)


def failed(error: Exception) -> Response:
    """The page for an error that nobody expected: only the log says more."""
    log.error("request %s failed", g.get("request_id"), exc_info=error)
    return refused(Internal())


HANDLERS: dict[type[Exception], Callable[[Any], Response]] = {
    LivedataError: refused,
    HTTPException: unlisted,
    Damaged: failed,
    Exception: failed,
}
