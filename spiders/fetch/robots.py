"""robots.txt as RFC 9309 has it, the crawl delay included."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.robotstxt import RobotParser
from typing_extensions import override

from livedata.rules.network.targets import site_of
from spiders.fetch.errors import (
    RobotsDisallowed,
    RobotsDown,
    RobotsRateLimited,
    RobotsUnread,
    RunCancelled,
)
from spiders.fetch.heads import asked_to_wait, asks_too_long
from spiders.session import session_of

MAX_CRAWL_DELAY = 10.0
"""The longest crawl delay, in seconds, that a Run obeys."""
MOST_RULES = 512 * 1024
"""The bytes of robots.txt that are read; RFC 9309 wants 500 KiB at least."""
_FORBID_ALL = b"User-agent: *\nDisallow: /"


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
