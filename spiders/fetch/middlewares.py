"""The middlewares of a crawl: redirects, cookies, and compressed bodies."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.http import HtmlResponse, Response
from scrapy.http.cookies import CookieJar
from scrapy.utils.response import get_meta_refresh
from typing_extensions import override

from livedata.extraction.page import charset, has_long_host
from livedata.rules.network.targets import site_of
from spiders.fetch.errors import TooMuch, UnreadableBody, UnsafeTarget

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEAD = 4 * 4096  # bytes of 4096 characters
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
_GZIP = b"\x1f\x8b\x08"


class _Followed:
    """A redirect to something that is no address leaves the answer as it is."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        try:
            outcome: Request | Response = super().process_response(request, response)  # type: ignore[misc]
            # Scrapy takes much for an address, and would fail on it only after leaving this answer.
            site_of(outcome.url)
        except ValueError:
            return response
        return outcome


class Redirects(_Followed, RedirectMiddleware):
    """Follows a Location."""

    @override
    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response:
        location = response.headers.get("Location") or b""
        if has_long_host(location.decode("utf-8", "replace")):
            return response
        outcome: Request | Response = super().process_response(request, response)
        if outcome is response and response.status in _REDIRECTS:
            _check_scheme(location.decode("latin-1"), response)
        return outcome


class Refreshes(_Followed, MetaRefreshMiddleware):
    """Follows a refresh in the head of a page, but not one to the page itself."""

    @override
    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response:
        if not isinstance(response, HtmlResponse) or not _may_refresh(response.body[:_HEAD]):
            return response
        head = _head(response)
        outcome: Request | Response = super().process_response(request, head)
        if outcome is head:
            with suppress(ValueError):  # as above
                seconds, url = get_meta_refresh(head, ignore_tags=self._ignore_tags)
                if seconds is not None and seconds < self._maxdelay:
                    _check_scheme(url or "", response)
            return response
        # A page that reloads itself has nothing else to show: it would end as a circle.
        return response if outcome.url == request.url else outcome


def _may_refresh(head: bytes) -> bool:
    """Whether a head may have a refresh: most have none, which this shows without decoding it."""
    # Its letters may be written as references, or in UTF-16.
    return b"refresh" in head.lower() or b"&#" in head or b"\x00" in head


def _head(response: HtmlResponse) -> HtmlResponse:
    """The page as far as Scrapy looks for a refresh, since it decodes all that it is given."""
    declared = (response.headers.get("Content-Type") or b"").decode("latin-1")
    name = charset(response.body, declared)
    return response.replace(body=response.body[:_HEAD], encoding=name)


def _check_scheme(target: str, response: Response) -> None:
    """Raise UnsafeTarget for what leads out of the web. Browsers follow no javascript."""
    scheme = _SCHEME.match(target)
    if scheme and scheme[1].lower() not in {"http", "https", "javascript"}:
        raise UnsafeTarget(target.strip(), response.status)


class Cookies:
    """Keeps the cookies of one Run, and sends them back."""

    # Scrapy's own middleware may fetch a list of public suffixes from the network at the first
    # cookie, past the guard and unasked; this one asks nobody.
    def __init__(self) -> None:
        self._jar = CookieJar()

    @classmethod
    def from_crawler(cls, _crawler: Crawler) -> Self:
        """One jar per Run."""
        return cls()

    def process_request(self, request: Request) -> None:
        """Send what the site has set."""
        self._jar.add_cookie_header(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Keep what the site sets."""
        self._jar.extract_cookies(response, request)
        return response


class Decompression(HttpCompressionMiddleware):
    """Undoes gzip and deflate, whole or not at all."""

    # Scrapy's own keeps what it can read of a body that was cut or damaged: the rows behind the cut
    # would be missing, and nobody would know.
    @staticmethod
    @override
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        if encoding == b"deflate":
            # By RFC 9110 it has zlib's header; some servers send it bare.
            wrapped = body[:1] and body[0] & 0x0F == 8 and not int.from_bytes(body[:2]) % 31
            # zlib's window bits: 15 with its header, -15 without, 31 with that of gzip.
            return _inflated(body, 15 if wrapped else -15, max_size)
        if encoding in {b"gzip", b"x-gzip"}:
            return _inflated(body, 31, max_size)
        raise UnreadableBody("unasked_compression", encoding=encoding.decode("latin-1"))


def _inflated(body: bytes, form: int, most: int) -> bytes:
    """What `body` holds; of gzip all its members, without padding behind them."""
    inflated, rest = bytearray(), body
    while rest and (not inflated or rest.startswith(_GZIP)):
        stream = zlib.decompressobj(form)
        # One byte more than a Run takes: a bomb shows itself before it is unpacked.
        try:
            inflated += stream.decompress(rest, most + 1 - len(inflated))
        except zlib.error as error:
            said = str(error).rpartition(": ")[2]
            raise UnreadableBody("damaged_compression", said=said) from error
        if len(inflated) > most:
            raise TooMuch("too_big", mib=most >> 20)
        if not stream.eof:
            raise UnreadableBody("cut_compression")
        rest = stream.unused_data
    return bytes(inflated)
