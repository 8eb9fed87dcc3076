"""Cookies that live as long as a Run."""

from __future__ import annotations

from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.http.cookies import CookieJar


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
