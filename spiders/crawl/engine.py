"""The crawl engine of a process: one reactor, and crawls within it."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from msgspec import Struct, field
from scrapy import Spider
from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor

from livedata.model.harvest import Harvest, StopReason
from livedata.model.problem import Problem, Remedy
from livedata.rules.network.targets import site_of
from spiders.browser.shared_browser import NoBrowser, SharedBrowser
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import settings_for
from spiders.crawl.spider import SourceSpider
from spiders.fetch.resolver import GuardedResolver
from spiders.session import CrawlSession, Deadline, ProxyRoute, SessionCrawler
from spiders.throttle import SiteThrottle

if TYPE_CHECKING:
    from playwright.async_api import Browser

READERS = 2
"""The threads that read pages and write what was read: a long page in one leaves the other.

More would be no quicker, for Python runs one at a time, and each has memory of its own.
"""
# A page has so many nodes, none of which is in a cycle: Python would search them for cycles again
# and again, for half of the time that finding them takes, and let nothing else run meanwhile.
_GC_THRESHOLD = 10_000
_CLOSING = 8.0
"""The seconds that the browser has to close in."""
_REPORT = (Remedy("report"),)
_Result = TypeVar("_Result")


PATIENCE = 30.0
"""The seconds in which a crawl comes to its end once its time is over."""


class CrawlEngine(Struct, frozen=True):
    """What all crawls of a process share: its event loop, the turns at each site, the browser.

    `stuck` is set once a crawl could not be ended: what it left behind keeps a thread or the
    browser, so the process is to end soon, and by `os._exit`, which waits for no thread.
    """

    loop: asyncio.AbstractEventLoop
    throttle: SiteThrottle = field(default_factory=SiteThrottle)
    browser: SharedBrowser = field(default_factory=SharedBrowser)
    stuck: asyncio.Event = field(default_factory=asyncio.Event)

    def run(self, main: Coroutine[Any, Any, _Result]) -> _Result:
        """Run a coroutine to its end, with all crawls that it starts."""
        return self.loop.run_until_complete(main)

    async def crawl(self, job: CrawlJob) -> Harvest:
        """Execute a recipe: what was gathered until it ended, however it ended."""
        browser = None
        if job.recipe.render == "browser":
            try:
                browser = await self._browser_or_cancel(job)
            except NoBrowser as error:
                return Harvest([], StopReason("page_failed", error.problem))
            except TimeoutError:
                return self._stuck_at(job.recipe.url)
        recipe, fetching = job.recipe, job.fetching
        session = CrawlSession(
            site=site_of(recipe.url),
            targets=fetching.targets,
            route=ProxyRoute(recipe.proxy, fetching.proxy),
            deadline=Deadline(job.cancel, fetching.run_timeout),
            throttle=self.throttle,
            delay=fetching.delay,
            # The pages of a browser Run share one context, which shows one page at a time.
            look_ahead=1 if recipe.render == "browser" else fetching.look_ahead,
            browser=browser,
        )
        if not await self.run_spider(SourceSpider, settings_for(recipe, fetching), session, job):
            return self._stuck_at(session.url)
        assert session.harvest is not None  # the pipeline leaves one whenever a spider was opened
        return session.harvest

    async def run_spider(
        self, spider: type[Spider], settings: Settings, session: CrawlSession, job: object
    ) -> bool:
        """Crawl until a spider has ended; False if it does not end, and is left behind."""
        crawler = SessionCrawler(spider, settings, session)
        crawling = asyncio.ensure_future(crawler.crawl_async(job=job, session=session))
        late = asyncio.ensure_future(session.deadline.late(PATIENCE))
        await asyncio.wait({crawling, late}, return_when=asyncio.FIRST_COMPLETED)
        late.cancel()
        if not crawling.done():
            self.stuck.set()
            crawling.cancel()
            _look_away(crawling)
            return False
        crawling.result()
        return True

    def _stuck_at(self, url: str) -> Harvest:
        """The harvest of a crawl that does not end, and is left behind."""
        self.stuck.set()
        problem = Problem("run.stuck", {"seconds": PATIENCE}, url=url, remedies=_REPORT)
        return Harvest([], StopReason("page_failed", problem))

    async def _browser_or_cancel(self, job: CrawlJob) -> Browser | None:
        """The browser once it is there; None if the Run is cancelled before.

        Raises TimeoutError if it does not start.
        """
        starting = asyncio.ensure_future(self.browser.start(job.fetching.browser))
        cancelled = asyncio.ensure_future(job.cancel.wait())
        # The time of a Run begins with its first page: a start that hangs has as much.
        seconds = job.fetching.run_timeout + PATIENCE
        first = asyncio.FIRST_COMPLETED
        await asyncio.wait({starting, cancelled}, timeout=seconds, return_when=first)
        cancelled.cancel()
        if starting.done():
            return starting.result()
        # Other Runs may wait for the same start, so it goes on.
        _look_away(starting)
        if job.cancel.is_set():
            return None
        raise TimeoutError


def _look_away(future: asyncio.Future[Any]) -> None:
    # asyncio would complain of an exception that nobody has looked at.
    future.add_done_callback(lambda done: done.cancelled() or done.exception())


@contextmanager
def crawl_engine() -> Iterator[CrawlEngine]:
    """The engine of this process. Its reactor can be started only once in a process's life."""
    # First of all: the reactor that stands at the first import of `twisted.internet.reactor` stays,
    # and Playwright needs the one on asyncio's loop.
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor as installed

    reactor: Any = installed
    # Each failure ends in a Run's row, as a sentence; here it would be a traceback as well.
    logging.getLogger("scrapy").setLevel(logging.CRITICAL)
    logging.getLogger("twisted").setLevel(logging.CRITICAL)
    reactor.installNameResolver(GuardedResolver(reactor.nameResolver))
    # Names are looked up in these threads: a few that never answer must not hold up every Run.
    reactor.getThreadPool().adjustPoolsize(1, 20)
    engine = CrawlEngine(asyncio.get_event_loop())
    engine.loop.set_default_executor(ThreadPoolExecutor(READERS, thread_name_prefix="reader"))
    gc.set_threshold(_GC_THRESHOLD)
    # The loop is ours to run, and so are the signals: Twisted only marks itself as running.
    reactor.startRunning(installSignalHandlers=False)
    try:
        yield engine
    finally:
        with suppress(TimeoutError):  # its driver may be what a crawl is stuck at
            engine.run(asyncio.wait_for(engine.browser.close(), _CLOSING))
        # Twisted ends its threads at this event, and the process can end only after them.
        reactor.fireSystemEvent("shutdown")


def end_process(code: int, engine: CrawlEngine | None) -> NoReturn:
    """End this process with an exit code, also if a crawl is stuck in one of its threads."""
    if engine is not None and engine.stuck.is_set():
        # Python waits for every thread of its own; this one may never end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    raise SystemExit(code)
