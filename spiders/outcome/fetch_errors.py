"""Exceptions -> what went wrong with a page."""

from __future__ import annotations

import re
from collections.abc import Callable
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

from livedata.extraction.page import PageTooComplex, has_long_host
from livedata.extraction.work import RUN_LIMIT, TooMuchWork
from livedata.model.problem import Params, Problem, Remedy
from livedata.rules.network.targets import TargetPolicy, site_of, split_place, url_problem
from spiders.fetch.errors import (
    BrowserLost,
    FetchError,
    HeaderTooLong,
    OtherHost,
    RedirectsTooOften,
    RobotsDisallowed,
    RobotsDown,
    RobotsRateLimited,
    RobotsUnread,
    RunCancelled,
    UnsafeTarget,
    bad_certificate,
)
from spiders.fetch.heads import LONGEST_HEAD
from spiders.outcome.reasons import reason_of

LATER: Final = (Remedy("run_later"),)
LESS_OFTEN: Final = (*LATER, Remedy("run_less_often"))
_SMALLER: Final = (Remedy("choose_smaller_page"),)
_ADDRESS: Final = (Remedy("check_address"), *LATER)
_IGNORE: Final = Remedy("ignore_robots")

CANCELLED: Final = Problem("fetch.cancelled")
_CUT: Final = Problem("fetch.connection_cut", remedies=LATER)
_HEAD: Final = Problem(
    "fetch.long_headers", {"kib": LONGEST_HEAD >> 10}, remedies=(*LATER, Remedy("see_in_browser"))
)
_LOOPS: Final = Problem("fetch.redirect_loop", remedies=(Remedy("see_where_it_leads"),))
_COMPLEX: Final = Problem("fetch.too_complex", remedies=_SMALLER)

_OF_THE_SITE: Final = frozenset({"network", "unsafe_target", "unknown"})
"""What robots.txt fails for only because it is asked for before the page."""
_LENGTH: Final = re.compile("Content-Length|non-decimal").search
_SHOWN: Final = 200


def classify(error: BaseException, seconds: float) -> Problem:
    """What is behind an exception at a page that may take so many seconds."""
    if isinstance(error, RobotsUnread):
        return _robots_unread(error, seconds)
    if isinstance(error, DownloadTimeoutError):
        remedies = (*LATER, Remedy("more_page_time"))
        return Problem("fetch.timeout", {"seconds": seconds}, remedies=remedies)
    if isinstance(error, (DownloadFailedError, ResponseDataLossError)):
        return _broken(error)
    for kinds, problem_behind in _BY_KIND:
        if isinstance(error, kinds):
            return problem_behind(error)
    params = {"type": type(error).__name__, "said": _said(error)}
    return Problem("fetch.unexpected", params, remedies=(Remedy("report"),))


def _robots_unread(error: RobotsUnread, seconds: float) -> Problem:
    below = classify(error.cause, seconds)
    moved = site_of(getattr(error.cause, "url", error.url)) != site_of(error.url)
    if reason_of(below) in _OF_THE_SITE and not moved:
        return below
    return Problem("fetch.robots_unread", evidence=(below,), remedies=(*LATER, _IGNORE))


def _broken(error: BaseException) -> Problem:
    """A connection that was there, and on which no whole answer came."""
    causes = _causes(error)
    for cause in causes:
        if isinstance(cause, HeaderTooLong):
            return _HEAD
        if isinstance(cause, ParseError):
            began = cause.args[-1][:60].decode("latin-1") if len(cause.args) > 1 else ""
            return _garbled("not_http", {"begins": began})
        if isinstance(cause, ValueError):
            if _LENGTH(str(cause)):
                return _garbled("broken_length")
            return _garbled("broken_http", {"said": _said(cause)})
        if isinstance(cause, KeyError):  # Twisted looks for it among those that it knows
            return _garbled("broken_encoding", {"said": _said(cause)})
        if isinstance(cause, _MalformedChunkedDataError):
            return _garbled("broken_chunks")
        if isinstance(cause, (SSL.Error, VerificationError)):
            return _insecure(cause)
    cut = any(isinstance(cause, (ConnectionLost, ConnectionDone)) for cause in causes)
    if cut or isinstance(error, ResponseDataLossError):
        return _CUT
    names = ", ".join(type(cause).__name__ for cause in causes) or _said(error)
    return Problem("fetch.connection_broke", {"said": names}, remedies=LATER)


def _garbled(what: str, params: Params | None = None) -> Problem:
    return Problem(f"fetch.{what}", params or {}, remedies=_ADDRESS)


def _insecure(error: BaseException) -> Problem:
    if isinstance(error, VerificationError):
        return bad_certificate(of_another=True).problem
    errors = error.args[0] if error.args else None
    if not isinstance(errors, list):  # of OpenSSL's own errors only; else the connection was lost
        return _CUT
    said = "; ".join(str(error_parts[-1]) for error_parts in errors)
    if "certificate" in said:
        return bad_certificate(of_another=False).problem
    return Problem("fetch.no_tls", {"said": said}, remedies=_ADDRESS)


def _unsafe(error: UnsafeTarget) -> Problem:
    """An address that may not be read, or that is wrong even if its host may be reached."""
    if has_long_host(error.url):
        return _wrong_address(Problem("address.odd_host"))
    try:
        host = urlsplit(error.url).hostname or ""
    except ValueError:
        host = ""
    wrong = url_problem(error.url, TargetPolicy(frozenset({host, f"[{host}]"})))
    if wrong is not None:
        return _wrong_address(wrong)
    site, (_, port) = site_of(error.url), split_place(error.url)
    named = site if site.endswith(f":{port}") else f"{site}:{port}"
    what, helps = ("private_address", "allow_host")
    if isinstance(error, OtherHost):
        what, helps = ("other_host", "name_host")
    return Problem(f"fetch.{what}", {"site": site}, remedies=(Remedy(helps, {"host": named}),))


def _wrong_address(wrong: Problem) -> Problem:
    remedies = (Remedy("find_new_address"),)
    return Problem("fetch.wrong_address", evidence=(wrong,), remedies=remedies)


def _refused(error: BaseException) -> Problem:
    """Also what a browser says of a connection that never came about."""
    said = str(error)
    if said.startswith("net::"):
        return Problem("fetch.browser_unreachable", {"said": said[5:]}, remedies=_ADDRESS)
    why = "connection refused" if "refused" in said.lower() else said
    return _of_the_site("connection_refused", error, {"said": why})


def _of_the_site(what: str, error: BaseException, params: Params | None = None) -> Problem:
    return Problem(f"fetch.{what}", {"site": _site(error), **(params or {})}, remedies=_ADDRESS)


def _too_much_work(error: TooMuchWork) -> Problem:
    code = "too_much_work_of_run" if error.limit == RUN_LIMIT else "too_much_work"
    params: Params = {"selector": error.selector, "steps": error.limit}
    return Problem(f"fetch.{code}", params, remedies=(Remedy("narrow_selector"), *_SMALLER))


_BY_KIND: Final[
    tuple[
        tuple[type[BaseException] | tuple[type[BaseException], ...], Callable[[Any], Problem]], ...
    ]
] = (
    (RunCancelled, lambda _: CANCELLED),
    (HeaderTooLong, lambda _: _HEAD),
    (
        BrowserLost,
        lambda _: Problem("fetch.browser_lost", remedies=(Remedy("find_what_ended_it"),)),
    ),
    (UnsafeTarget, _unsafe),
    (
        RobotsDisallowed,
        lambda _: Problem(
            "fetch.robots_disallowed", remedies=(Remedy("choose_allowed_page"), _IGNORE)
        ),
    ),
    (RobotsDown, lambda _: Problem("fetch.robots_down", remedies=(*LATER, _IGNORE))),
    (RobotsRateLimited, lambda _: Problem("fetch.robots_rate_limited", remedies=LESS_OFTEN)),
    (FetchError, lambda error: error.problem),
    (CannotResolveHostError, lambda error: _of_the_site("unknown_host", error)),
    (DownloadConnectionRefusedError, _refused),
    (ConnectError, lambda error: _of_the_site("no_connection", error)),
    (PageTooComplex, lambda _: _COMPLEX),
    (TooMuchWork, _too_much_work),
    (
        DownloadCancelledError,
        lambda error: Problem("fetch.too_much", {"said": _said(error)}, remedies=_SMALLER),
    ),
    (
        (UnsupportedURLSchemeError, NotSupported),
        lambda _: Problem("fetch.wrong_scheme", remedies=(Remedy("see_where_it_leads"),)),
    ),
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
