"""Heads of answers: how long one may be, of which type its answer is, and how long to wait."""

from __future__ import annotations

import re
import time
from email.utils import parsedate_to_datetime
from typing import Final

from scrapy.core.downloader.handlers.http11 import (
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
)
from scrapy.http import Response
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.web._newclient import HTTP11ClientProtocol
from twisted.web._newclient import Request as Sent
from twisted.web.iweb import IResponse
from typing_extensions import override

from spiders.fetch.errors import HeaderTooLong

LONGEST_HEAD: Final = 256 * 1024
"""Bytes; browsers take about as much."""

LONGEST_WAIT: Final = 30.0
"""The seconds that a Run waits at most; if a site asks for more, its answer stands."""

_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS: Final = ("json", "xml", "javascript")
# As browsers tell a page from other text (WHATWG, "MIME Sniffing"), with the tags of today.
_BEGINNING: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml\b[^>]{0,200}>\s*)?"
    rb"<(?:!--|!doctype\s+html|(?:a|article|aside|b|base|body|br|div|footer|font|form|h[1-6]|head"
    rb"|header|html|iframe|img|li|link|main|meta|nav|ol|p|pre|script|section|span|style|table|title"
    rb"|ul)[\s/>])",
    re.IGNORECASE,
)


class _Parser(_LenientHTTPClientParser):
    """Counts the lines of one answer; like Scrapy's, it is made by a change of class."""

    # Of one line: it also bounds what is gathered while no line end comes.
    MAX_LENGTH = LONGEST_HEAD
    taken = 0

    @override
    def lineReceived(self, line: bytes) -> None:
        self.taken += len(line)
        if self.taken > LONGEST_HEAD:
            raise HeaderTooLong
        super().lineReceived(line)

    @override
    def lineLengthExceeded(self, line: bytes) -> None:
        raise HeaderTooLong


class _Protocol(_LenientHTTP11ClientProtocol):
    @override
    def request(self, request: Sent) -> Deferred[IResponse]:
        answered = super().request(request)
        assert self._parser is not None
        # Twisted makes the parser itself, and Scrapy changes its class in the same way.
        self._parser.__class__ = _Parser
        return answered


class HeaderLimit(_LenientHTTP11ClientFactory):
    """Makes connections on which a head that is too long fails with `HeaderTooLong`."""

    @override
    def buildProtocol(self, addr: IAddress | None) -> HTTP11ClientProtocol:
        return _Protocol(self._quiescentCallback)  # type: ignore[no-untyped-call]


def asked_to_wait(response: Response) -> float | None:
    """The seconds that a 429 or 503 asks for, as a number or a date; None if it does not."""
    if response.status not in {429, 503}:
        return None
    said = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if said.isdecimal() and said.isascii():
        return float(said[:12])  # thousands of digits would be infinite, or slow
    try:
        # A date in the past asks for no wait: clocks differ.
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def asks_too_long(response: Response) -> bool:
    """Whether it asks for longer than a Run waits."""
    wait = asked_to_wait(response)
    return wait is not None and wait > LONGEST_WAIT


def content_type(response: Response) -> str | None:
    """What the answer says that it is."""
    declared = response.headers.get("Content-Type")
    return declared.decode("latin-1") if declared else None


def media_type(response: Response) -> str:
    """The declared type without its parameters, in lower case; empty if none is declared."""
    declared = (content_type(response) or "").partition(";")[0].strip().lower()
    return declared if "/" in declared else ""


def is_html(response: Response) -> bool:
    """Whether the answer is an HTML page; the ending of its address says nothing."""
    declared = media_type(response)
    if declared:
        return declared in _HTML
    return _BEGINNING.match(response.body) is not None


def is_text(response: Response) -> bool:
    """Whether a person could read the answer: a page, or what says that it is text."""
    declared = media_type(response)
    return declared.startswith("text/") or declared.endswith(_TEXTS) or is_html(response)
