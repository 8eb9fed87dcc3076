"""The session of one crawl, from its first request to its last: what all that works for it shares.

That is its deadline, its route, and in the end its harvest.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Self

from msgspec import Struct
from msgspec.structs import replace
from scrapy import Request, Spider
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.problem import Problem
from livedata.model.recipe import ProxyMode
from livedata.model.run import REFUSALS, FailureReason
from livedata.rules.network.installation import Proxy
from livedata.rules.network.targets import TargetPolicy, site_of
from spiders.throttle import SiteThrottle

if TYPE_CHECKING:
    from playwright.async_api import Browser

# Many firewalls reset or drop the connections of those whom they mean to refuse.
_SWITCHING: frozenset[FailureReason] = REFUSALS | {"connection_reset", "timeout"}
_BROKE = Problem("run.broke_off")


class Deadline:
    """The end of a Run's time; once it is `over`, no request starts and running ones are cancelled.

    It is over after so many seconds, as soon as `cancel` is set, or when the Run has all it wants.
    """

    def __init__(self, cancel: asyncio.Event, seconds: float) -> None:
        self.seconds = self._left = seconds
        self._since = 0.0
        self.over = asyncio.Event()
        self._cancel = cancel
        self._watch: asyncio.Task[None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled the Run."""
        return self._cancel.is_set()

    def begin(self) -> None:
        """Count the time from now on."""
        self._since = time.monotonic()
        self._watch = asyncio.ensure_future(self._run_out())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock meanwhile; the caller has to watch for `cancelled` itself."""
        # A timer cannot be stopped for a while: a new watch begins later with what is left.
        self._left -= time.monotonic() - self._since
        if self._watch is not None:
            self._watch.cancel()
        try:
            yield
        finally:
            self.begin()

    async def late(self, seconds: float) -> None:
        """Wait until so long after it was over."""
        await self.over.wait()
        await asyncio.sleep(seconds)

    async def cancelled_within(self, seconds: float) -> None:
        """Wait for so long, or until somebody cancels the Run."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cancel.wait(), seconds)

    def end(self) -> None:
        """The Run has all it wants."""
        self.over.set()
        if self._watch is not None:
            self._watch.cancel()

    async def _run_out(self) -> None:
        await self.cancelled_within(self._left)
        self.over.set()


class ProxyRoute(Struct):
    """The route of one Run, robots.txt and redirects included; it never leaves the proxy again."""

    mode: ProxyMode
    proxy: Proxy | None
    proxied: bool = False

    def __post_init__(self) -> None:
        self.proxied = self.mode == "always" and self.proxy is not None

    @property
    def missing(self) -> bool:
        """Whether a proxy is demanded that is not there."""
        return self.mode == "always" and self.proxy is None

    @property
    def current_proxy(self) -> Proxy | None:
        """The proxy through which requests now go; None for direct."""
        return self.proxy if self.proxied else None

    def switch(self, reason: FailureReason) -> bool:
        """After such a failure on the direct way: whether the Run now goes through the proxy."""
        if self.mode == "auto" and self.proxy is not None and reason in _SWITCHING:
            self.proxied = True
        return self.proxied

    def prepare(self, request: Request) -> Proxy | None:
        """Send `request` by this route: its proxy, or None for direct."""
        proxy = self.current_proxy
        # A redirect copies the headers and the meta of a request that went another way.
        request.headers.pop("Proxy-Authorization", None)
        request.meta["proxy"] = proxy and proxy.url
        if proxy is not None and proxy.authorization is not None:
            request.headers["Proxy-Authorization"] = proxy.authorization
        return proxy


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


class HarvestPipeline:
    """Leaves the harvest in the session when the spider closes."""

    def __init__(self, session: CrawlSession) -> None:
        self._session = session
        # Scrapy swallows what a spider raises and closes it as if it were done, so a crawl is
        # broken until its last item says how it ended.
        self._harvest = Harvest([], StopReason("page_failed", _BROKE))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """One pipeline per Run."""
        return cls(session_of(crawler))

    def process_item(self, item: PageRead | Harvest) -> PageRead | Harvest:
        """Keep a page; or, as the last item of all, how the crawl ended and what it took."""
        if isinstance(item, PageRead):
            self._harvest.pages.append(item)
        else:
            self._harvest = replace(item, pages=self._harvest.pages)
        return item

    def close_spider(self) -> None:
        """Hand over what was gathered."""
        self._session.harvest = self._harvest
