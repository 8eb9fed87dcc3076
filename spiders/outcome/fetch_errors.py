"""Exceptions -> the reasons of specification 2.11, and what went wrong in words for a person."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlsplit

from OpenSSL import SSL
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    UnsupportedURLSchemeError,
)
from service_identity import VerificationError
from twisted.internet.error import ConnectError, ConnectionDone, ConnectionLost
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError
from twisted.web.http import _MalformedChunkedDataError

from livedata.extraction.page import PageTooComplex
from livedata.model.run import FailureReason
from livedata.rules.network.targets import TargetPolicy, site_of, split_place, url_problem
from spiders.fetch.errors import (
    BrowserLost,
    Damaged,
    HeaderTooLong,
    RedirectsTooOften,
    RobotsDisallowed,
    RobotsDown,
    RobotsRateLimited,
    RobotsUnread,
    RunCancelled,
    TooMuch,
    UnsafeTarget,
)
from spiders.fetch.header_limit import LONGEST
from spiders.fetch.unreachable import ANOTHERS, UNTRUSTED, Unreachable, bad_certificate


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a page could not be read, as the rest of a sentence, and what may help."""

    reason: FailureReason
    what: str
    next: str = ""


LATER: Final = "run it again later"
FEWER: Final = "choose a page that shows fewer items at a time"
LESS_OFTEN: Final = "run it again later, or less often"
_ADDRESS: Final = "check the address, or run it again later"
_IGNORE: Final = "set ignoreRobots = true where you may read it all the same"

CANCELLED: Final = Trouble("cancelled", "the Run was cancelled")
_ENDED: Final = Trouble(
    "unknown",
    "the browser ended while it showed the page",
    "run it again, and if it ends again look for what ends it (too little memory, a kill)",
)
_CUT: Final = Trouble(
    "connection_reset", "the connection was cut before the answer was complete", LATER
)
_HEAD: Final = Trouble(
    "limit_exceeded",
    f"its headers have more than {LONGEST >> 10} KiB, which is the most that is read",
)
_LOOPS: Final = Trouble(
    "limit_exceeded",
    "it redirects more often than a Run follows",
    "open it in a browser to see where it leads",
)
_OF_THE_SITE: Final = frozenset({"network", "unsafe_target", "unknown"})
"""What robots.txt fails for only because it is asked for before the page."""
_SCHEME: Final = Trouble("unsafe_target", "its address begins neither with http:// nor https://")
_LENGTH: Final = re.compile("Content-Length|non-decimal").search
_SHOWN: Final = 200


def failed(error: BaseException, seconds: float) -> Trouble:
    """What is behind an exception at a page that may take so many seconds."""
    if isinstance(error, RobotsUnread):
        below = failed(error.cause, seconds)
        moved = site_of(getattr(error.cause, "url", error.url)) != site_of(error.url)
        if below.reason in _OF_THE_SITE and not moved:
            return below
        what = f"the site's robots.txt, which comes first, could not be: {below.what}"
        return replace(below, what=what, next=f"{LATER}, or {_IGNORE}")
    if isinstance(error, DownloadTimeoutError):
        what = f"the answer was not complete after {seconds:g} s"
        return Trouble("timeout", what, f"{LATER}, or raise LIVEDATA_PAGE_SECONDS")
    if isinstance(error, (DownloadFailedError, ResponseDataLossError)):
        return _broken(error)
    for kinds, told in _BY_KIND:
        if isinstance(error, kinds):
            return told(error)
    what = f"something unexpected happened ({type(error).__name__}: {_said(error)})"
    return Trouble("unknown", what, "if it happens again, it is a fault of livedata: report it")


def _broken(error: BaseException) -> Trouble:
    """A connection that was there, and on which no whole answer came."""
    causes = _causes(error)
    for cause in causes:
        if isinstance(cause, HeaderTooLong):
            return _HEAD
        if isinstance(cause, ParseError):
            began = cause.args[-1][:60].decode("latin-1") if len(cause.args) > 1 else ""
            return _garbled(f"is not HTTP: it begins with {began!r}")
        if isinstance(cause, ValueError):
            said = "its Content-Length is not one number" if _LENGTH(str(cause)) else _said(cause)
            return _garbled(f"is broken HTTP: {said}")
        if isinstance(cause, KeyError):  # Twisted looks for it among those that it knows
            return _garbled(f"is broken HTTP: its Transfer-Encoding is {_said(cause)}")
        if isinstance(cause, _MalformedChunkedDataError):
            return _garbled("is broken HTTP: its chunks do not say how long they are")
        if isinstance(cause, (SSL.Error, VerificationError)):
            return _insecure(cause)
    known = any(isinstance(one, (ConnectionLost, ConnectionDone)) for one in causes)
    if known or isinstance(error, ResponseDataLossError):
        return _CUT
    names = ", ".join(type(cause).__name__ for cause in causes) or _said(error)
    return Trouble("network", f"the connection broke off ({names})", LATER)


def _garbled(what: str) -> Trouble:
    return Trouble("invalid_content", f"the answer {what}", _ADDRESS)


def _insecure(error: BaseException) -> Trouble:
    if isinstance(error, VerificationError):
        return _unreachable(bad_certificate(ANOTHERS))
    told = error.args[0] if error.args else None
    if not isinstance(told, list):  # of OpenSSL's own errors only; else the connection was lost
        return _CUT
    said = "; ".join(str(one[-1]) for one in told)
    if "certificate" in said:
        return _unreachable(bad_certificate(UNTRUSTED))
    return Trouble("network", f"no secure connection came about ({said})", _ADDRESS)


def _unreachable(error: Unreachable) -> Trouble:
    return Trouble("network", _said(error), error.next)


def _unsafe(error: UnsafeTarget) -> Trouble:
    """An address that is private, or that is wrong even where its host may be reached."""
    host = urlsplit(error.url).hostname or ""
    problem = url_problem(error.url, TargetPolicy(frozenset({host, f"[{host}]"})))
    if problem is not None:
        return Trouble("unsafe_target", f"its address {problem}", "look for where the page is now")
    site, (_, port) = site_of(error.url), split_place(error.url)
    named = site if site.endswith(f":{port}") else f"{site}:{port}"
    return Trouble(
        "unsafe_target",
        f"the address of {site} is private",
        f"if that host is your own, LIVEDATA_ALLOW_HOSTS={named} lets it through",
    )


def _refused(error: BaseException) -> Trouble:
    """Also what a browser says of a connection that never came about."""
    said = str(error)
    if said.startswith("net::"):
        return Trouble("network", f"the browser could not reach it ({said[5:]})", _ADDRESS)
    why = "connection refused" if "refused" in said.lower() else said
    return Trouble("network", f"nothing answers at {_site(error)} ({why})", _ADDRESS)


def _nameless(error: BaseException) -> Trouble:
    return Trouble("network", f"no host of the name {_site(error)} can be found", _ADDRESS)


def _unreached(error: BaseException) -> Trouble:
    return Trouble("network", f"no connection to {_site(error)} came about", _ADDRESS)


def _as_told(reason: FailureReason, next_: str = "") -> Callable[[BaseException], Trouble]:
    """What says in our own words what is wrong."""
    return lambda error: Trouble(reason, _said(error), next_)


_BY_KIND: Final[
    tuple[
        tuple[type[BaseException] | tuple[type[BaseException], ...], Callable[[Any], Trouble]], ...
    ]
] = (
    (RunCancelled, lambda _: CANCELLED),
    (HeaderTooLong, lambda _: _HEAD),
    (BrowserLost, lambda _: _ENDED),
    (UnsafeTarget, _unsafe),
    (
        RobotsDisallowed,
        lambda _: Trouble(
            "robots_disallowed",
            "the site's robots.txt does not allow it",
            f"choose a page that it allows, or {_IGNORE}",
        ),
    ),
    (RobotsDown, _as_told("robots_disallowed", f"{LATER}, or {_IGNORE}")),
    (RobotsRateLimited, _as_told("rate_limited", LESS_OFTEN)),
    (Unreachable, _unreachable),
    (CannotResolveHostError, _nameless),
    (DownloadConnectionRefusedError, _refused),
    (ConnectError, _unreached),
    ((PageTooComplex, TooMuch, DownloadCancelledError), _as_told("limit_exceeded", FEWER)),
    ((UnsupportedURLSchemeError, NotSupported), lambda _: _SCHEME),
    (Damaged, _as_told("invalid_content", _ADDRESS)),
    # The only one that is left of those that Scrapy raises so:
    ((RedirectsTooOften, IgnoreRequest), lambda _: _LOOPS),
)


def _site(error: BaseException) -> str:
    """The host and port that an exception is about."""
    try:
        return site_of(str(getattr(error, "url", ""))) or "it"
    except ValueError:
        return "it"


def _causes(error: BaseException) -> list[BaseException]:
    """The exceptions below one of Twisted's, which keeps them as failures in ``reasons``."""
    reasons = getattr(error.__cause__, "reasons", [])
    return [
        reason.value
        for reason in reasons
        if isinstance(reason, Failure) and reason.value is not None
    ]


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:_SHOWN].rstrip(".")
