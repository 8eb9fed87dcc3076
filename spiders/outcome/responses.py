"""Answers that are no page -> the reasons of interface 2.11, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace
from scrapy.http import Response

from livedata.model.harvest import PageFailure
from livedata.model.problem import Problem, Remedy
from livedata.model.run import FailureReason
from livedata.rules.network.targets import share_site
from spiders.fetch.heads import asked_to_wait, is_html, media_type
from spiders.outcome import challenge
from spiders.outcome.fetch_errors import LATER, LESS_OFTEN
from spiders.outcome.reasons import reason_of

_LOGIN = re.compile(
    r"/(login|log-in|signin|sign-in|sso|auth|oauth|saml|session/new)(/|$)", re.IGNORECASE
)

PARTIAL: Final = 206
_SEE: Final = (Remedy("see_in_browser"),)
_PUBLIC: Final = (Remedy("choose_public_page"),)
_LIST: Final = (Remedy("choose_list_page"),)
_WITH_ONE_MEANING: Final[Mapping[FailureReason, Problem]] = {
    "challenge": Problem("fetch.challenge", remedies=_SEE),
    "forbidden": Problem("fetch.forbidden", remedies=_SEE),
    "login_redirect": Problem("fetch.login_redirect", remedies=_PUBLIC),
    "empty_body": Problem("fetch.empty_body", remedies=_SEE),
}

_REFUSED_STATUSES: dict[int, FailureReason] = {403: "forbidden", 429: "rate_limited"}


def refused(response: Response, requested: str, *, has_items: bool) -> FailureReason | None:
    """Why an answer is not the page that was `requested`; None if it is.

    `has_items` says that itemSelector matched: an answer of 2xx with items is content, even
    with a challenge on it.
    """
    status = response.status
    # Before the items: AWS challenges with status 202, and no content of 2xx has these headers.
    if challenge.said_by_headers(response):
        return "challenge"
    if status < 200 or status == PARTIAL:
        return "http_error"
    if has_items and 200 <= status < 300:
        return None
    # Behind the items: a sign in a body is less sure than records that a selector has found.
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


def answered(reason: FailureReason, response: Response) -> Problem:
    """What is wrong with an answer that was refused for that reason."""
    if reason in _WITH_ONE_MEANING:
        return _WITH_ONE_MEANING[reason]
    if reason == "rate_limited":
        wait = {"wait": asked_to_wait(response)}
        return Problem("fetch.rate_limited", wait, remedies=LESS_OFTEN)
    if reason == "http_error":
        return _error(response.status)
    return Problem("fetch.not_html", {"type": media_type(response)}, remedies=_LIST)


def _error(status: int) -> Problem:
    if status == PARTIAL:
        return Problem("fetch.partial", remedies=LATER)
    if status < 200:
        return Problem("fetch.odd_status", remedies=LATER)
    if status < 400:
        return Problem("fetch.odd_redirect", remedies=(Remedy("find_new_address"),))
    if status in {404, 410}:
        return Problem("fetch.no_such_page", remedies=(Remedy("find_where_it_is"),))
    if status == 407:
        return Problem("fetch.proxy_credentials", remedies=(Remedy("check_proxy_credentials"),))
    if status in {401, 451}:
        return Problem("fetch.not_public", remedies=_PUBLIC)
    later = status >= 500 or status == 408
    return Problem("fetch.error_status", remedies=LATER if later else _SEE)


def failure_at(
    number: int, url: str, problem: Problem, status: int | None = None, final: str | None = None
) -> PageFailure:
    """The failure of a page; `final` is the address to which redirects have led."""
    params = {**problem.params, "status": status}
    if final not in (None, url) and not share_site(final, url):
        params["sent_on_to"] = _origin(final) or f"{final.partition(':')[0]}:"
    placed = replace(problem, params=params, page=number, url=url)
    return PageFailure(number, url, reason_of(problem), status, _origin(final), placed)


def out_of_time(number: int, url: str, seconds: float) -> PageFailure:
    """The page at which the Run's own time was over."""
    params, remedies = {"seconds": seconds}, (Remedy("more_run_time"),)
    problem = Problem("fetch.run_out_of_time", params, number, url, remedies=remedies)
    return PageFailure(number, url, "timeout", None, None, problem)


def _origin(url: str | None) -> str | None:
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return None
    # User info may be a password, and whoever may see the Run sees this.
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}" if host else None


def _is_login(url: str) -> bool:
    return _LOGIN.search(urlsplit(url).path) is not None
