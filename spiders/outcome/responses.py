"""Answers that are no page -> the reasons of specification 2.11, and words for a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from scrapy.http import Response

from livedata.model.harvest import PageFailure
from livedata.model.run import FailureReason
from livedata.rules.network.targets import site_of
from spiders.fetch.retry_after import asked_to_wait
from spiders.outcome import challenge
from spiders.outcome.content_type import is_html, media_type
from spiders.outcome.fetch_errors import LATER, LESS_OFTEN, Trouble

_LOGIN = re.compile(
    r"/(login|log-in|signin|sign-in|sso|auth|oauth|saml|session/new)(/|$)", re.IGNORECASE
)

_SEE: Final = "open it in a browser to see what it shows there"
PARTIAL: Final = 206
_PROXY: Final = "see whether LIVEDATA_PROXY has the right ones"
_PUBLIC: Final = "choose a page that is public, since livedata does not log in"
_TROUBLES: Final[Mapping[FailureReason, Trouble]] = {
    one.reason: one
    for one in (
        Trouble("challenge", "the site answered with a challenge for browsers", _SEE),
        Trouble("forbidden", "the site refused it", _SEE),
        Trouble("login_redirect", "the site sent it to a login page", _PUBLIC),
        Trouble("empty_body", "the site answered with nothing", _SEE),
    )
}

_REFUSED_STATUSES: dict[int, FailureReason] = {403: "forbidden", 429: "rate_limited"}


def refused(response: Response, requested: str, *, has_items: bool) -> FailureReason | None:
    """Why an answer is not the page that was `requested`; None where it is.

    `has_items` says that itemSelector matched: an answer of 2xx with items is content, whatever
    else stands on it.
    """
    status = response.status
    if challenge.said_by_headers(response):
        return "challenge"
    if status < 200 or status == PARTIAL:
        return "http_error"
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
    return None if is_html(response) else "invalid_content"


def answered(reason: FailureReason, response: Response) -> Trouble:
    """What is wrong with an answer that was refused for that reason."""
    known = _TROUBLES.get(reason)
    if known is not None:
        return known
    if reason == "rate_limited":
        wait = asked_to_wait(response)
        asks = f", and wants to be left alone for {wait:.0f} s" if wait else ""
        return Trouble(reason, f"the site said that it was asked too often{asks}", LESS_OFTEN)
    if reason == "http_error":
        return _error(response.status)
    declared = media_type(response)
    what = f"but {declared}" if declared else "and says nothing of what it is"
    return Trouble(
        reason,
        f"it is not an HTML page {what}",
        "choose the address of the page that shows the list",
    )


def _error(status: int) -> Trouble:
    if status == PARTIAL:
        return Trouble(
            "http_error", "the site gave out a part of it only, for which nobody asked", LATER
        )
    if status < 200:
        return Trouble("http_error", "the site answered with a status that means nothing", LATER)
    if status < 400:
        return Trouble(
            "http_error",
            "the site answered with a redirect that cannot be followed",
            "look for where the page is now",
        )
    if status in {404, 410}:
        return Trouble(
            "http_error",
            "the site says that there is no such page",
            "look for where it is now",
        )
    if status == 407:
        return Trouble("http_error", "a proxy on the way to it wants other credentials", _PROXY)
    if status in {401, 451}:
        return Trouble("http_error", "the site does not let everybody read it", _PUBLIC)
    next_ = LATER if status >= 500 or status == 408 else _SEE
    return Trouble("http_error", "the site answered with an error", next_)


def told(
    number: int, url: str, trouble: Trouble, status: int | None = None, final: str | None = None
) -> PageFailure:
    """A failure with the sentence that a person reads; `final` is where redirects have led."""
    shown = f" (status {status})" if status is not None else ""
    moved = f", sent on to {_origin(final)}," if final and site_of(final) != site_of(url) else ""
    then = f"; {trouble.next}" if trouble.next else ""
    message = f"Page {number} ({url}){moved} could not be read: {trouble.what}{shown}{then}."
    return PageFailure(number, url, trouble.reason, status, _origin(final), message)


def out_of_time(number: int, url: str, seconds: float) -> PageFailure:
    """The page at which the Run's own time was over."""
    message = (
        f"Page {number} ({url}) was not read: the Run has taken the {seconds:g} s that it may; "
        "lower maxPages, or raise LIVEDATA_RUN_SECONDS."
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
