"""The session of one crawl: what its spider, its download handlers and its middlewares share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from scrapy import Spider
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from livedata.model.harvest import Harvest
from livedata.rules.network.targets import TargetPolicy, site_of
from spiders.session.deadline import Deadline
from spiders.session.proxy_route import ProxyRoute
from spiders.session.throttle import SiteThrottle

if TYPE_CHECKING:
    from playwright.async_api import Browser


class CrawlSession(Struct, eq=False):
    """One crawl of a source at `site`.

    `throttle` and `browser` belong to the process and serve its other crawls too; `browser` is
    None for pages that are not rendered. `rate_limited` is set once a site answers that it was
    asked too often, `harvest` when the crawl closes. `url` is of the page that it is at.
    """

    site: str
    targets: TargetPolicy
    route: ProxyRoute
    deadline: Deadline
    throttle: SiteThrottle
    delay: float
    look_ahead: int
    browser: Browser | None = None
    # Scrapy makes a download handler for each scheme; the browser's serves both (rendering.py).
    renderer: HTTP11DownloadHandler | None = None
    rate_limited: bool = False
    harvest: Harvest | None = None
    url: str = ""

    @property
    def window(self) -> int:
        """How many requests the source's site gets at once: one if it wants to be spared."""
        spared = self.rate_limited or self.throttle.crawl_delay(self.site) > 0
        return 1 if spared else self.look_ahead


class SessionCrawler(Crawler):
    """Scrapy's crawler of one Run, with its session.

    The settings do not carry it: what stands there is said by a person.
    """

    def __init__(self, spidercls: type[Spider], settings: Settings, session: CrawlSession) -> None:
        super().__init__(spidercls, settings)
        self.session = session


def session_of(crawler: Crawler) -> CrawlSession:
    """The session of the crawl that a handler or a middleware works for."""
    assert isinstance(crawler, SessionCrawler)
    return crawler.session


class SiteTurn:
    """The turn that a Run has: at first that of the site of its session. To take "" gives it up."""

    def __init__(self, session: CrawlSession, take: Callable[[str], Awaitable[None]]) -> None:
        self._deadline = session.deadline
        self._site = session.site
        self._take = take

    async def leave(self) -> None:
        """Give the turn up; the next page waits for one again."""
        if self._site:
            await self._take("")
            self._site = ""

    async def move(self, url: str) -> None:
        """Wait for the turn of a site if the next page is of another one than the last."""
        try:
            site = site_of(url)
        except ValueError:
            return  # it has no site: reading it fails
        if site not in ("", self._site):
            # Others hold the site for as long as they like, so this is no time of the Run's.
            with self._deadline.paused():
                await self._take(site)
            self._site = site
