"""Answers and failures -> the reasons of specification 2.11, and words for a person."""

from __future__ import annotations

import re
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
from scrapy.http import HtmlResponse, Response
from twisted.internet.error import ConnectionDone, ConnectionLost
from twisted.internet.ssl import VerificationError
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError

from livedata.model.harvest import PageFailure
from livedata.model.run import FailureReason
from livedata.rules.targets import site_of
from spiders import challenge
from spiders.handler import RunCancelled, UnsafeTarget
from spiders.middlewares import RobotsDisallowed, RobotsRateLimited
from spiders.page import PageTooDeep
from spiders.unreachable import ANOTHERS, UNTRUSTED, Unreachable

_LOGIN = re.compile(
    r"/(login|log-in|signin|sign-in|sso|auth|oauth|saml|session/new)(/|$)", re.IGNORECASE
)

_WORDS: dict[FailureReason, str] = {
    "challenge": "the site answered with a challenge for browsers{status}",
    "forbidden": "the site refused it{status}",
    "rate_limited": "the site said that it was asked too often{status}",
    "login_redirect": "the site sent it to a login page{status}",
    "empty_body": "the site answered with nothing{status}",
    "connection_reset": "the connection was cut before the page was complete",
    "robots_disallowed": "the site's robots.txt does not allow it",
    "timeout": "the site did not answer in time",
    "cancelled": "the Run was cancelled",
    "network": "the site could not be reached: {detail}",
    "http_error": "the site answered with an error{status}",
    "invalid_content": "it is not an HTML page{status}: {detail}",
    "limit_exceeded": "it is more than a Run may take: {detail}",
    "unsafe_target": "its address is private; LIVEDATA_ALLOW_HOSTS lets hosts of your own through",
    "unknown": "something unexpected happened: {detail}",
}

_REFUSED_STATUSES: dict[int, FailureReason] = {403: "forbidden", 429: "rate_limited"}
_RESETS = (ConnectionLost, ConnectionDone)


def refused(response: Response, requested: str, *, has_items: bool) -> FailureReason | None:
    """Why an answer is not the page that was `requested`; None where it is.

    `has_items` says that itemSelector matched: an answer of 2xx with items is content, whatever
    else stands on it.
    """
    status = response.status
    if challenge.said_by_headers(response):
        return "challenge"
    if has_items and 200 <= status < 300:
        return None
    if challenge.said_by_body(response):
        return "challenge"
    if status in _REFUSED_STATUSES:
        return _REFUSED_STATUSES[status]
    if status >= 300:
        return "http_error"
    if response.url != requested and _is_login(response.url) and not _is_login(requested):
        return "login_redirect"
    if not response.body.strip():
        return "empty_body"
    return None if isinstance(response, HtmlResponse) else "invalid_content"


def failed(error: BaseException) -> tuple[FailureReason, str]:
    """The reason behind an exception, and a detail for a person."""
    for kinds, reason in _BY_KIND:
        if isinstance(error, kinds):
            return reason, _detail(error)
    if isinstance(error, DownloadFailedError):
        causes = _causes(error)
        if any(isinstance(cause, _RESETS) for cause in causes):
            return "connection_reset", _detail(error)
        if any(isinstance(cause, ParseError) for cause in causes):
            return "invalid_content", _detail(error)
        return "network", _of_certificate(causes) or _detail(error)
    if isinstance(error, IgnoreRequest):
        return "limit_exceeded", str(error)
    return "unknown", f"{type(error).__name__}: {_detail(error)}"


_BY_KIND: tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], FailureReason], ...]
_BY_KIND = (
    (RunCancelled, "cancelled"),
    (UnsafeTarget, "unsafe_target"),
    (RobotsDisallowed, "robots_disallowed"),
    (RobotsRateLimited, "rate_limited"),
    (DownloadTimeoutError, "timeout"),
    ((Unreachable, CannotResolveHostError, DownloadConnectionRefusedError), "network"),
    (ResponseDataLossError, "connection_reset"),
    ((PageTooDeep, DownloadCancelledError), "limit_exceeded"),
    ((UnsupportedURLSchemeError, NotSupported, ValueError), "unsafe_target"),
    (OSError, "invalid_content"),
)


def told(
    number: int, url: str, reason: FailureReason, status: int | None, final: str | None, detail: str
) -> PageFailure:
    """A failure with the sentence that a person reads."""
    shown = f" (status {status})" if status is not None else ""
    words = _WORDS[reason].format(status=shown, detail=detail or "no more is known")
    moved = f", sent on to {final}," if final and site_of(final) != site_of(url) else ""
    message = f"Page {number} ({url}){moved} could not be read: {words}."
    return PageFailure(number, url, reason, status, _origin(final), message)


def out_of_time(number: int, url: str, seconds: float) -> PageFailure:
    """The page at which the Run's own time was over."""
    message = (
        f"Page {number} ({url}) was not read: the Run has taken the {seconds:g} s that it may. "
        "Lower maxPages, or raise LIVEDATA_RUN_SECONDS."
    )
    return PageFailure(number, url, "timeout", None, None, message)


def _origin(url: str | None) -> str | None:
    if url is None:
        return None
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}"


def _is_login(url: str) -> bool:
    return _LOGIN.search(urlsplit(url).path) is not None


def _causes(error: BaseException) -> list[BaseException]:
    """The exceptions below one of Twisted's, which keeps them as failures in ``reasons``."""
    reasons = getattr(error.__cause__, "reasons", [])
    return [
        reason.value
        for reason in reasons
        if isinstance(reason, Failure) and reason.value is not None
    ]


def _of_certificate(causes: list[BaseException]) -> str:
    """What is wrong with the site's certificate; empty where it is something else."""
    if any(isinstance(cause, VerificationError) for cause in causes):
        return ANOTHERS
    said = "".join(str(cause) for cause in causes if isinstance(cause, SSL.Error))
    return UNTRUSTED if "certificate verify failed" in said else ""


def _detail(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text[:200].rstrip(".")
