"""Signing in: by an API key, or by a link that works once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.pages.answers import page
from livedata.pages.visits import VISIT, context, remember
from livedata.services.pages import sessions

_USED: Final = (
    "This link was used already, or it has expired: each works once, within ten minutes. "
    "livedata open makes another one."
)
_SIGNED_OUT: Final = (
    "You were signed out before this was sent, and nothing was done. What you typed is kept here."
)
_KEPT: Final = "kept-"
"""How the names of the fields of another form begin while somebody signs in."""
_TOLD_BY_PAGES: Final = ("was-", "place-", "order", "version", "revision", "request", "row")
"""How the names of fields begin that no person types."""
_NEVER_KEPT: Final = ("token", "target", "mail_password")
"""A token is of one session, and an address that is to be told may hold a password."""
_SECONDS: Final = sessions.SESSION_FOR // 1_000_000


class UnsentForm(Struct, frozen=True):
    """A form that was sent in a session that is over: where to, and its fields."""

    path: str
    fields: Sequence[tuple[str, str]]

    @classmethod
    def of_request(cls) -> UnsentForm | None:
        """The form that is asked for, or the one that is kept while somebody signs in."""
        sent = request.form.items(multi=True)
        # What is kept stands in the source of a page, before anybody has signed in.
        fields = [
            (name, text) for name, text in sent if name.removeprefix(_KEPT) not in _NEVER_KEPT
        ]
        if not request.path.startswith("/sign-"):
            return cls(request.path, fields)
        kept = [(name.removeprefix(_KEPT), text) for name, text in fields if name.startswith(_KEPT)]
        path = _ours(request.form.get("again", ""))
        return cls(path, kept) if path != "/" else None

    @property
    def typed(self) -> Sequence[str]:
        """What a person may have typed, of what is kept."""
        return [text for name, text in self.fields if text and not name.startswith(_TOLD_BY_PAGES)]


def show(refusal: str = "", status: int = 200) -> Response:
    """The form in which a person gives a key."""
    unsent = UnsentForm.of_request()
    return _form("sign_in.html", status=status, refusal=refusal, next=_next(), unsent=unsent)


def keep() -> Response:
    """A form of a session that is over: it is kept until somebody has signed in, and asks again."""
    unsent = UnsentForm.of_request()
    if g.caller is None or unsent is None:
        return show(_SIGNED_OUT, 401)
    return page("unsent.html", status=409, unsent=unsent)


def _form(template: str, **values: Any) -> Response:
    """A page whose form whoever is not signed in may send."""
    # The form needs a token, and that a visit: a browser that is not signed in gets one that opens
    # nothing.
    known = g.visit or request.cookies.get(VISIT)
    g.visit = known or sessions.make_token()
    answer = page(template, **values)
    return answer if known else remember(answer, g.visit, name=VISIT)


def enter() -> Response:
    """Sign in by the key of the form."""
    token = sessions.sign_in(context().store, request.form.get("key", "").strip())
    if token is None:
        return show("This key opens nothing: it is mistyped, or revoked.", 401)
    unsent = UnsentForm.of_request()
    if unsent is None:
        return _begin(redirect(_next(), 303), token)
    before, g.visit = g.visit, token
    g.caller = sessions.caller(context().store, token)
    answer = page("unsent.html", unsent=unsent)
    g.visit = before
    return _begin(answer, token)


def show_link() -> Response:
    """What a link that works once leads to: a button, so that no look ahead uses it up."""
    token = request.args.get("token", "")
    owner = sessions.owner_of_link(context().store, token)
    if owner is None:
        return show(_USED, 401)
    return _form("link.html", link=token, signs_in=owner, next=_next())


def follow_link() -> Response:
    """Sign in by a link that works once."""
    session = sessions.follow_link(context().store, request.form.get("link", ""))
    if session is None:
        return show(_USED, 401)
    return _begin(redirect(_next(), 303), session)


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
    return _ours(request.values.get("next", ""))


def _ours(wanted: str) -> str:
    is_ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    return wanted if is_ours and wanted.isprintable() else "/"
