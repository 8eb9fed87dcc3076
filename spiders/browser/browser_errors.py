"""What a browser says when it cannot show a page -> the exceptions of Scrapy's own handler.

So a rendered page fails for the same reasons, in the same words, as one that is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from playwright.async_api import Error
from scrapy.exceptions import (
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)

from livedata.rules.network.targets import split_place
from spiders.browser.egress import Egress
from spiders.browser.proxy_headers import place_of
from spiders.fetch.errors import (
    BrowserLost,
    HeaderTooLong,
    OtherHost,
    RedirectsTooOften,
    TooMuch,
    UnreadableBody,
    UnsafeTarget,
    bad_certificate,
)

# Playwright has one class for all errors: only the text of one has Chromium's code.
_CODE = re.compile(r"net::ERR_([A-Z0-9_]+)")
_PLAIN: Mapping[type[Exception], frozenset[str]] = {
    ResponseDataLossError: frozenset(
        (
            "CONNECTION_ABORTED",
            "CONNECTION_CLOSED",
            "CONNECTION_RESET",
            "CONTENT_LENGTH_MISMATCH",
            "EMPTY_RESPONSE",
            "INCOMPLETE_CHUNKED_ENCODING",
        )
    ),
    DownloadTimeoutError: frozenset(("CONNECTION_TIMED_OUT", "TIMED_OUT")),
    HeaderTooLong: frozenset(("RESPONSE_HEADERS_TOO_BIG",)),
    RedirectsTooOften: frozenset(("TOO_MANY_REDIRECTS",)),
    UnsafeTarget: frozenset(
        ("DISALLOWED_URL_SCHEME", "UNKNOWN_URL_SCHEME", "UNSAFE_PORT", "UNSAFE_REDIRECT")
    ),
}
_DAMAGED = frozenset(
    (
        "CONTENT_DECODING_FAILED",
        "CONTENT_DECODING_INIT_FAILED",
        "INVALID_CHUNKED_ENCODING",
        "INVALID_HTTP_RESPONSE",
        "INVALID_RESPONSE",
    )
)


def code_of(text: str) -> str:
    """The code in a message of the browser's; empty without one."""
    match = _CODE.search(text)
    return match[1] if match else ""


def own_answer(egress: Egress, url: str) -> Exception:
    """What it means that the way out itself answered instead of the site."""
    place = place_of(url)
    if place in egress.private:
        covered = egress.targets.covers(*split_place(url))
        return UnsafeTarget(url) if covered else OtherHost(url)
    return egress.unreachable.get(place) or DownloadConnectionRefusedError("no connection")


def reason_of(error: Error, egress: Egress, url: str) -> Exception:
    """The exception that stands for a browser's, at the address to which it has come."""
    # Chromium downloads what it cannot show; Playwright then says so without a code.
    code = "ABORTED" if "Download is starting" in error.message else code_of(error.message)
    # The egress cut the connection itself: Chromium would blame the site for it.
    if egress.overflowed:
        return TooMuch("loads_too_much", mib=egress.most >> 20)
    if code == "TUNNEL_CONNECTION_FAILED":
        return own_answer(egress, url)
    if code.startswith("CERT_"):
        return bad_certificate(of_another=code == "CERT_COMMON_NAME_INVALID")
    if code:
        return _behind(code, url)
    if "crashed" in error.message:
        return TooMuch("tab_crashed")
    if "has been closed" in error.message:
        return BrowserLost(url)
    return error


def _behind(code: str, url: str) -> Exception:
    """The exception that stands for a code of the browser's."""
    if code == "ABORTED":
        return UnreadableBody("not_shown")
    if code in _DAMAGED:
        return UnreadableBody("unreadable_answer", said=f"net::ERR_{code}")
    for kind, codes in _PLAIN.items():
        if code in codes:
            return kind(url if kind is UnsafeTarget else f"net::ERR_{code}")
    return DownloadConnectionRefusedError(f"net::ERR_{code}")
