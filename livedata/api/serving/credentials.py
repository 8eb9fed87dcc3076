"""What a request shows of its owner, before the application has seen it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from werkzeug.http import parse_cookie

from livedata.api.auth import COOKIE, bearer

MOST: Final = 8_192
"""So many characters of cookies, or of a query, are read: all connections wait meanwhile."""


def credential(path: str, query: str, headers: Mapping[str, str]) -> str:
    """The secret that opens what a request asks for, in one form; empty if it has none.

    It is read as the application reads it, and nothing else of the request counts: whoever adds
    another cookie or parameter is no stranger.
    """
    path = f"/{path.lstrip('/')}"  # as a WSGI environment has it
    if path.startswith("/feeds/"):
        kind, secret = "feed", _token(query)
    elif path.startswith("/v1/"):
        kind, secret = "key", bearer(headers.get("AUTHORIZATION"))
    else:
        kind, secret = "session", _session(headers.get("COOKIE", ""))
    return f"{kind} {secret}" if secret else ""


def _token(query: str) -> str:
    parameters = parse_qsl(query[:MOST], keep_blank_values=True)
    return next((value for name, value in parameters if name == "token"), "")


def _session(cookies: str) -> str:
    try:
        return parse_cookie(cookies[:MOST]).get(COOKIE, "")
    except UnicodeDecodeError:
        return ""
