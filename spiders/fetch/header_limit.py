"""A limit for the head of an answer: Twisted would gather status and headers for ever."""

from __future__ import annotations

from typing import Final

from scrapy.core.downloader.handlers.http11 import (
    _LenientHTTP11ClientFactory,
    _LenientHTTP11ClientProtocol,
    _LenientHTTPClientParser,
)
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IAddress
from twisted.web._newclient import HTTP11ClientProtocol
from twisted.web._newclient import Request as Sent
from twisted.web.iweb import IResponse
from typing_extensions import override

from spiders.fetch.errors import HeaderTooLong

LONGEST: Final = 256 * 1024
"""Bytes; browsers take about as much."""


class _Parser(_LenientHTTPClientParser):
    """Counts the lines of one answer; like Scrapy's, it is made by a change of class."""

    # Of one line: it also bounds what is gathered while no line end comes.
    MAX_LENGTH = LONGEST
    taken = 0

    @override
    def lineReceived(self, line: bytes) -> None:
        self.taken += len(line)
        if self.taken > LONGEST:
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
