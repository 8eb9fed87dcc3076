"""What comes before and after each page: who asks, and what a browser may do with the answer."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec
from urllib.parse import urlencode, urlsplit

from flask import Response, current_app, g, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from livedata.api.auth import COOKIE
from livedata.api.endpoints import AppContext
from livedata.model.errors import LivedataError
from livedata.services.pages import sessions

P = ParamSpec("P")

VISIT: Final = "livedata-visit"
"""What a browser keeps that is not signed in: it opens nothing, and takes no session's place.

A page of another site may lead here, and then a browser keeps the cookie of its session back.
"""
YEAR: Final = 365 * 86_400
"""So many seconds a browser keeps how a person likes to see the pages."""
OPEN: Final = "pages.sign_in_"
"""What begins like this can be asked for by whoever is not signed in."""
POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"),
    )
)
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Pages link to what sites wrote: they are not to learn who looks at it, nor from where.
    # (With no-referrer, a browser would not even tell us that a form is of our own pages.)
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Misdirected(LivedataError):
    """This server is not known by this name; LIVEDATA_HOSTS lists the names that it answers to."""

    code = "misdirected"


class Forged(LivedataError):
    """This form is not one of this browser's pages: open the page again, and send it from there."""

    code = "forged"


class NotSent(LivedataError):
    """A form came from a page of this browser, but its session is over: nothing was done."""

    code = "not_sent"


def context() -> AppContext:
    """What all requests share."""
    app: AppContext = current_app.extensions["livedata"]
    return app


def at_one_moment(show: Callable[P, AnyResponse]) -> Callable[P, AnyResponse]:
    """Let all that a page shows be of one moment: it asks `g.db`, which is one transaction."""

    @wraps(show)
    def showing(*args: P.args, **options: P.kwargs) -> AnyResponse:
        with context().store.at_one_moment() as g.db:
            return show(*args, **options)

    return showing


def begin() -> AnyResponse | None:
    """Judge a request before its page: raise, lead to the sign-in, or go on (None)."""
    g.visit = request.cookies.get(COOKIE, "")
    if not context().hosts.know(request.host):
        raise Misdirected
    if request.endpoint == "pages.static":
        return None
    is_sent = request.method != "POST" or _is_of_this_session()
    caller = sessions.caller(context().store, g.visit) if g.visit else None
    if caller is not None:
        g.caller = caller
        context().key_usage.note(caller)
    if not is_sent or (request.method == "POST" and caller is None and not _is_open()):
        raise NotSent
    if caller is not None or _is_open():
        return None
    if request.headers.get("Sec-Fetch-Site") == "cross-site":
        return _asked_again()
    return redirect(f"/sign-in?{urlencode({'next': request.full_path.rstrip('?')}, safe='/?')}")


def finish(response: Response) -> Response:
    """Tell the browser what it may do with an answer."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    if request.endpoint != "pages.static":
        response.headers["Cache-Control"] = "no-store"
    return response


def finish_unrouted(response: Response) -> Response:
    """The same where no page is, and no endpoint: a browser may have asked."""
    return response if request.blueprint is not None else finish(response)


def form_token(visit: str | None = None) -> str:
    """What each form of this browser's pages has, and no other site can know."""
    return hmac.new((visit or g.visit).encode(), b"form", "sha256").hexdigest()


def remember(
    response: AnyResponse,
    token: str,
    *,
    seconds: int | None = None,
    name: str = COOKIE,
    path: str = "/",
) -> AnyResponse:
    """Give the browser a token to keep for a path; without seconds, until it ends."""
    response.set_cookie(
        name,
        token,
        max_age=seconds,
        path=path,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure or context().public_url.startswith("https:"),
    )
    return response


def _is_of_this_session() -> bool:
    """Whether a form is of one of our pages in this session; False if it is of an earlier one.

    Raises Forged for a form that is not of one of our pages in this browser.
    """
    origin = request.headers.get("Origin")
    elsewhere = request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin"
    # A proxy in front of us may ask under a name that the browser does not know.
    own = {request.host, urlsplit(context().public_url).netloc or request.host}
    if elsewhere or (origin is not None and urlsplit(origin).netloc not in own):
        raise Forged
    given = request.form.get("token", "").encode()
    # Whoever is signed in has forms of that session, but for those that anybody may send.
    visits = [g.visit, request.cookies.get(VISIT, "") if _is_open() or not g.visit else ""]
    if any(visit and hmac.compare_digest(given, form_token(visit).encode()) for visit in visits):
        return True
    # No page elsewhere can make a browser say so: it is ours, and what was typed is not lost.
    if request.headers.get("Sec-Fetch-Site") == "same-origin" and not _is_open():
        return False
    raise Forged


def _is_open() -> bool:
    """Whether whoever is not signed in may ask for this page."""
    return (request.endpoint or "").startswith(OPEN)


def _asked_again() -> Response:
    """A page that asks for itself again.

    A browser keeps our cookie back if another site, such as somebody's mail, has led here. What a
    page of ours asks for gets it.
    """
    return Response('<!doctype html><meta http-equiv="refresh" content="0">', mimetype="text/html")
