"""The middlewares of a crawl: robots.txt by RFC 9309, redirects, cookies, and compressed bodies."""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from typing import Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from scrapy.utils.response import get_meta_refresh
from typing_extensions import override

from livedata.extraction.page import charset, has_long_host
from livedata.rules.network.targets import site_of
from spiders.fetch.errors import (
    RobotsDisallowed,
    RobotsDown,
    RobotsRateLimited,
    RobotsUnread,
    RunCancelled,
    TooMuch,
    UnreadableBody,
    UnsafeTarget,
)
from spiders.fetch.heads import asked_to_wait, asks_too_long
from spiders.session import session_of

MAX_CRAWL_DELAY = 10.0
"""The longest crawl delay, in seconds, that a Run obeys."""
MOST_RULES = 512 * 1024
"""The bytes of robots.txt that are read; RFC 9309 wants 500 KiB at least."""
_FORBID_ALL = b"User-agent: *\nDisallow: /"

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_HEAD = 4 * 4096  # bytes of 4096 characters
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):")
_GZIP = b"\x1f\x8b\x08"


class Robots(RobotsTxtMiddleware):
    """Obeys robots.txt as RFC 9309 has it, the crawl delay included.

    If robots.txt cannot be fetched, the page fails for the same reason, and the next attempt asks
    for robots.txt again.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._throttle = session_of(crawler).throttle
        self._failures: dict[str, Exception] = {}
        self._down: dict[str, int] = {}

    @override
    async def robot_parser(self, request: Request) -> RobotParser | None:
        netloc = urlsplit(request.url).netloc
        rules = await super().robot_parser(request)
        if rules is None:
            # Scrapy remembers None as "no rules"; forgotten, it is asked for at the next attempt.
            if self._parsers.get(netloc, rules) is None:
                self._parsers.pop(netloc, None)
            failure = self._failures[netloc]
            if isinstance(failure, (RobotsRateLimited, RunCancelled)):
                raise failure
            raise RobotsUnread(request.url, failure) from failure
        return rules

    @override
    def _robots_error(self, exc: Exception, netloc: str) -> None:
        self._failures[netloc] = exc
        super()._robots_error(exc, netloc)

    @override
    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        try:
            super().process_request_2(rp, request)
        except IgnoreRequest as error:
            status = self._down.get(urlsplit(request.url).netloc)
            if status is not None:
                raise RobotsDown(request.url, status) from error
            raise RobotsDisallowed(request.url) from error

    @override
    async def _parse_robots(self, response: Response, netloc: str, request: Request) -> None:
        if asked_to_wait(response) is not None and not asks_too_long(response):
            response = await self._again(request)
        if response.status == 429 and asks_too_long(response):
            raise RobotsRateLimited(response.url)
        # Scrapy parses a body of any status. By RFC 9309 a 5xx forbids all, a 4xx nothing.
        if response.status >= 500:
            self._down[netloc] = response.status
            response = response.replace(body=_FORBID_ALL)
        elif response.status >= 400:
            response = response.replace(body=b"")
        elif len(response.body) > MOST_RULES:
            # Half a line could forbid more or less than the site wrote.
            whole = response.body[:MOST_RULES].rpartition(b"\n")[0]
            response = response.replace(body=whole)
        await super()._parse_robots(response, netloc, request)
        rules = self._parsers[netloc]
        if isinstance(rules, RobotParser):
            wanted = rules.crawl_delay(self._robotstxt_useragent or self._default_useragent) or 0.0
            self._throttle.slow_down(site_of(request.url), min(float(wanted), MAX_CRAWL_DELAY))

    async def _again(self, request: Request) -> Response:
        """robots.txt once more; the throttle waits as long as the site asked for."""
        engine = self.crawler.engine
        assert engine is not None
        url = urljoin(request.url, "/robots.txt")
        # Otherwise robots.txt would be asked whether robots.txt may be asked for.
        return await engine.download_async(Request(url, meta={"dont_obey_robotstxt": True}))


class RenderedRobots(Robots):
    """Obeys robots.txt for the final address of a page too."""

    async def process_response(self, request: Request, response: Response) -> Response:
        """The response, if robots.txt allows the address from which it comes."""
        # A browser follows redirects by itself, so Scrapy asked only for the first address. By now
        # the page is loaded, but nothing has read it.
        if "playwright" in response.flags and response.url != request.url:
            await self.process_request(request.replace(url=response.url))
        return response


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
