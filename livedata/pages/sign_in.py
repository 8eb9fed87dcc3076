"""Signing in: by an API key, or by a link that works once."""

from __future__ import annotations

from typing import Final

from flask import g, redirect, request
from werkzeug.wrappers import Response

from livedata.pages.answers import page
from livedata.pages.visits import context, remember
from livedata.services.browsing import sessions

_SECONDS: Final = sessions.SESSION_FOR // 1_000_000


def show(refusal: str = "", status: int = 200) -> Response:
    """The form in which a person gives a key."""
    # The form needs a token, and that a visit: a browser that is not signed in gets one that opens
    # nothing.
    given, g.visit = g.visit, g.visit or sessions.make_token()
    answer = page("sign_in.html", status=status, refusal=refusal, next=_next())
    return answer if given else remember(answer, g.visit)


def enter() -> Response:
    """Sign in by the key of the form."""
    token = sessions.sign_in(context().store, request.form.get("key", "").strip())
    if token is None:
        return show("This key opens nothing: it is mistyped, or revoked.", 401)
    return _begin(redirect(_next(), 303), token)


def follow_link() -> Response:
    """Sign in by a link that works once."""
    # A program that asks with HEAD what a link leads to must not use it up.
    if request.method == "HEAD":
        return show()
    session = sessions.follow_link(context().store, request.args.get("token", ""))
    if session is None:
        return show("This link was used already, or its ten minutes are over.", 401)
    # Not a redirect: a browser that another program has led here would not send the cookie on it.
    return _begin(page("signed_in.html", next=_next()), session)


def _begin(answer: Response, token: str) -> Response:
    """Let the browser keep a new session: nobody could end the one that it had before."""
    sessions.sign_out(context().store, g.visit)
    return remember(answer, token, seconds=_SECONDS)


def leave() -> Response:
    """Sign out."""
    sessions.sign_out(context().store, g.visit)
    answer = redirect("/sign-in", 303)
    return remember(answer, "", seconds=0)


def _next() -> str:
    """Where to go on: a path of ours, and never another site."""
    wanted = request.values.get("next", "")
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_ours and wanted.isprintable() else "/"
