"""Robots, redirects, compression and cookies, where Scrapy's own would do what a Run must not."""

from __future__ import annotations

import zlib
from typing import Self
from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import (
    MetaRefreshMiddleware,
    RedirectMiddleware,
)
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from typing_extensions import override

from livedata.rules.network.targets import site_of
from spiders.fetch.handler import RunCancelled, TooMuch
from spiders.fetch.retry_after import asked_to_wait, too_long
from spiders.fetch.throttle import TURNS

MAX_CRAWL_DELAY = 10.0
MOST_RULES = 512 * 1024
"""So many bytes of robots.txt are looked at; RFC 9309 wants 500 KiB at least."""
_FORBID_ALL = b"User-agent: *\nDisallow: /"
_GZIP = b"\x1f\x8b\x08"


class RobotsDisallowed(IgnoreRequest):
    """The site's robots.txt does not want the page at ``url`` to be read."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.url = url


class RobotsRateLimited(Exception):
    """Even robots.txt is to be asked for only much later."""

    def __init__(self, url: str) -> None:
        super().__init__("the site said that its robots.txt was asked for too often")
        self.url = url
        self.status = 429


class RobotsDown(IgnoreRequest):
    """robots.txt is answered with 5xx, so nothing is allowed at ``url``."""

    def __init__(self, url: str, status: int) -> None:
        super().__init__("nothing may be read while the site's robots.txt answers with an error")
        self.url = url
        self.status = status


class RobotsUnread(Exception):
    """robots.txt could not be fetched because of `cause`, so the page at ``url`` is not read."""

    def __init__(self, url: str, cause: Exception) -> None:
        super().__init__(str(cause))
        self.url = url
        self.cause = cause


class Damaged(Exception):
    """What an answer holds cannot be made out; says why."""


class Robots(RobotsTxtMiddleware):
    """Obeys robots.txt as RFC 9309 has it, the crawl delay included.

    Scrapy parses the body whatever the status; here 4xx means that there are no rules, and 5xx
    that nothing may be read. Scrapy reads on where robots.txt cannot be fetched; here the page
    fails for the same reason, and the next attempt asks for robots.txt again.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._failures: dict[str, Exception] = {}
        self._down: dict[str, int] = {}

    @override
    async def robot_parser(self, request: Request) -> RobotParser | None:
        netloc = urlsplit(request.url).netloc
        rules = await super().robot_parser(request)
        if rules is None:
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
        if asked_to_wait(response) is not None and not too_long(response):
            response = await self._again(request)
        if response.status == 429 and too_long(response):
            raise RobotsRateLimited(response.url)
        if response.status >= 500:
            self._down[netloc] = response.status
            response = response.replace(body=_FORBID_ALL)
        elif response.status >= 400:
            response = response.replace(body=b"")
        elif len(response.body) > MOST_RULES:
            whole = response.body[:MOST_RULES].rpartition(b"\n")[0]
            response = response.replace(body=whole)
        await super()._parse_robots(response, netloc, request)
        rules = self._parsers[netloc]
        if isinstance(rules, RobotParser):
            wanted = rules.crawl_delay(self._robotstxt_useragent or self._default_useragent) or 0.0
            TURNS.slow_down(site_of(request.url), min(float(wanted), MAX_CRAWL_DELAY))

    async def _again(self, request: Request) -> Response:
        """robots.txt once more; it waits for its turn as long as the site asked for."""
        engine = self.crawler.engine
        assert engine is not None
        url = urljoin(request.url, "/robots.txt")
        return await engine.download_async(Request(url, meta={"dont_obey_robotstxt": True}))


class _Followed:
    """A redirect to what is no address leaves the answer as it is."""

    def process_response(self, request: Request, response: Response) -> Request | Response:
        try:
            found: Request | Response = super().process_response(request, response)  # type: ignore[misc]
            site_of(found.url)
        except (ValueError, LookupError):  # or to none that can be made out, for its charset is odd
            return response
        return found


class Redirects(_Followed, RedirectMiddleware):  # type: ignore[misc]  # Scrapy gives it a spider
    """Follows a Location."""


class Refreshes(_Followed, MetaRefreshMiddleware):
    """Follows what a page says in its head, unless it only wants to be looked at again."""

    @override
    def process_response(  # type: ignore[override]
        self, request: Request, response: Response
    ) -> Request | Response:
        found: Request | Response = super().process_response(request, response)
        return response if found.url == request.url else found


class Decompression(HttpCompressionMiddleware):
    """Undoes gzip and deflate, whole or not at all.

    Scrapy's own makes do with what can be read of a body that was cut or damaged: the rows behind
    the cut would be missing, and nobody would know.
    """

    @staticmethod
    @override
    def _decode(body: bytes, encoding: bytes, max_size: int) -> bytes:
        if encoding == b"deflate":
            # By RFC 9110 it has zlib's header; some servers send it bare.
            wrapped = body[:1] and body[0] & 0x0F == 8 and not int.from_bytes(body[:2]) % 31
            return _inflated(body, 15 if wrapped else -15, max_size)
        if encoding in {b"gzip", b"x-gzip"}:
            return _inflated(body, 31, max_size)
        raise Damaged(f"it is compressed as {encoding.decode('latin-1')}, which was not asked for")


def _inflated(body: bytes, form: int, most: int) -> bytes:
    """What `body` holds; of gzip all its members, without padding behind them."""
    found, rest = bytearray(), body
    while rest and (not found or rest.startswith(_GZIP)):
        stream = zlib.decompressobj(form)
        try:
            found += stream.decompress(rest, most + 1 - len(found))
        except zlib.error as error:
            raise Damaged(
                f"its compression is damaged ({str(error).rpartition(': ')[2]})"
            ) from error
        if len(found) > most:
            raise TooMuch(f"it has more than {most >> 20} MiB, which is the most that is read")
        if not stream.eof:
            raise Damaged("its compressed body was cut")
        rest = stream.unused_data
    return bytes(found)


class Cookies:
    """Cookies for the length of a Run.

    Scrapy's own middleware may fetch a list of public suffixes from the network at the first
    cookie; this one asks nobody.
    """

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
