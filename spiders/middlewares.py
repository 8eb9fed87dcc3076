"""Robots and cookies, each where Scrapy's own would do something that a Run must not."""

from __future__ import annotations

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.http.cookies import CookieJar
from scrapy.robotstxt import RobotParser
from typing_extensions import override

MAX_CRAWL_DELAY = 10.0
_FORBID_ALL = b"User-agent: *\nDisallow: /"


class RobotsDisallowed(IgnoreRequest):
    """The site's robots.txt does not want this page to be read."""


class Robots(RobotsTxtMiddleware):
    """Obeys robots.txt as RFC 9309 has it, the crawl delay included.

    Scrapy parses the body whatever the status; here 4xx means that there are no rules, and 5xx
    that nothing may be read.
    """

    @override
    def process_request_2(self, rp: RobotParser | None, request: Request) -> None:
        try:
            super().process_request_2(rp, request)
        except IgnoreRequest as error:
            raise RobotsDisallowed(request.url) from error

    @override
    async def _parse_robots(self, response: Response, netloc: str, request: Request) -> None:
        if response.status >= 500:
            response = response.replace(body=_FORBID_ALL)
        elif response.status >= 400:
            response = response.replace(body=b"")
        await super()._parse_robots(response, netloc, request)
        rules = self._parsers[netloc]
        if isinstance(rules, RobotParser):
            self._slow_down(request, rules.crawl_delay(self._default_useragent))

    def _slow_down(self, request: Request, wanted: float | None) -> None:
        engine = self.crawler.engine
        assert engine is not None
        downloader = engine.downloader
        slot = downloader.slots.get(downloader.get_slot_key(request))
        if slot is not None and wanted:
            slot.delay = max(slot.delay, min(float(wanted), MAX_CRAWL_DELAY))


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
