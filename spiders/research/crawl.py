"""The crawl of a research Run: its spiders, and how the engine of the process executes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import scrapy
from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import override

from livedata.model.errors import LivedataError
from livedata.model.problem import Params, Problem, Remedy
from livedata.model.research.outcome import ResearchOutcome
from livedata.research.ports import Model, Ports, Recorder, Search
from spiders.browser.shared_browser import NoBrowser
from spiders.crawl.engine import PATIENCE, CrawlEngine
from spiders.crawl.page_reader import PageFetch, PageReader
from spiders.crawl.settings import FetchConfig, crawl_settings
from spiders.research.calls import BoundedModel, BoundedSearch
from spiders.research.sites import PageSites, new_fetch
from spiders.session import CrawlSession, Deadline, ProxyRoute, SiteTurn

_REPORT = (Remedy("report"),)
# The selector of what has to be there before a page may count as shown: all that it has.
_AWAITED = {"items": "body", "end": "", "next": ""}
# The pages are asked for by the readers, and not through Scrapy's queue.
_NO_REQUESTS: tuple[scrapy.Request, ...] = ()


class ResearchJob(Struct, frozen=True):
    """The harness to run with its recipe and memory, and what it reaches beside the sites.

    A Run has `seconds`; setting `cancel` ends it at once. `take_turn` is awaited before a page of
    another site than the last is read.
    """

    harness: Callable[[Ports], Awaitable[ResearchOutcome]]
    model: Model
    search: Search | None
    recorder: Recorder
    fetching: FetchConfig
    seconds: float
    take_turn: Callable[[str], Awaitable[None]]
    cancel: asyncio.Event = field(default_factory=asyncio.Event)


class Research(Struct):
    """A research Run under way: its end is an `outcome`, or an `error` of ours or of the store."""

    job: ResearchJob
    render: Callable[[str], Awaitable[PageFetch | None]]
    outcome: ResearchOutcome | None = None
    error: Exception | None = None


class ResearchSpider(scrapy.Spider):
    """Runs the harness of a job within a crawl, whose engine reads the pages that it asks for."""

    name = "livedata-research"

    def __init__(self, job: Research, session: CrawlSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._research = job
        self._session = session

    @override
    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Nothing for Scrapy: pages are asked for by the harness, and the outcome is kept here."""
        research, deadline = self._research, self._session.deadline
        deadline.begin()
        try:
            research.outcome = await research.job.harness(self._ports())
        except Exception as error:  # noqa: BLE001  (Scrapy would swallow it)
            research.error = error
        finally:
            # What is still under way notices the deadline and stops; then nothing of this Run can
            # reach a site after its end.
            deadline.end()
        for request in _NO_REQUESTS:
            yield request

    def _ports(self) -> Ports:
        job, session = self._research.job, self._session
        search = job.search and BoundedSearch(job.search, session.deadline)
        turn = SiteTurn(session, job.take_turn)
        sites = PageSites(session, PageReader(self.crawler, {}), turn, self._research.render)
        return Ports(BoundedModel(job.model, session.deadline), search, sites, job.recorder)


class RenderedPage(Struct):
    """A page to be read in the browser; `fetch` says what became of it."""

    url: str
    fetch: PageFetch | None = None


class RenderingSpider(scrapy.Spider):
    """Reads one page in the browser."""

    name = "livedata-rendering"

    def __init__(self, job: RenderedPage, session: CrawlSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._page = job
        self._session = session

    @override
    async def start(self) -> AsyncIterator[scrapy.Request]:
        """Nothing for Scrapy: the page is kept here."""
        reader = PageReader(self.crawler, {"playwright": True})
        self._page.fetch = await reader.read(new_fetch(1, self._page.url))
        for request in _NO_REQUESTS:
            yield request


async def research(engine: CrawlEngine, job: ResearchJob) -> ResearchOutcome:
    """What a research Run found until it ended, however it ended.

    Raises LivedataError if what it finds cannot be recorded.
    """
    fetching = job.fetching
    session = CrawlSession(
        site="",
        targets=fetching.targets,
        route=ProxyRoute("auto", fetching.proxy),
        deadline=Deadline(job.cancel, job.seconds),
        throttle=engine.throttle,
        delay=fetching.delay,
        look_ahead=1,
    )
    under_way = Research(job, _Renderer(engine, job, session).read)
    if not await engine.run_spider(ResearchSpider, crawl_settings(fetching), session, under_way):
        return _broken("run.stuck", {"seconds": PATIENCE}, session.url)
    if isinstance(under_way.error, LivedataError):
        raise under_way.error
    if under_way.outcome is None:
        return _broken("run.broke_off", {"said": repr(under_way.error)}, session.url)
    return under_way.outcome


def _broken(code: str, params: Params, url: str) -> ResearchOutcome:
    """The outcome of a Run that is at fault itself."""
    problem = Problem(code, params, url=url or None, remedies=_REPORT)
    return ResearchOutcome("cancelled", [], [], problem=problem)


class _Renderer(Struct):
    """Reads pages of a Run in the browser, if there is one."""

    engine: CrawlEngine
    job: ResearchJob
    session: CrawlSession
    missing: bool = False

    async def read(self, url: str) -> PageFetch | None:
        """The page as the browser shows it; None without a browser."""
        fetching = self.job.fetching
        if self.missing:
            return None
        try:
            browser = await self.engine.browser.start(fetching.browser)
        except NoBrowser:
            self.missing = True
            return None
        page = RenderedPage(url)
        session = replace(self.session, browser=browser)
        settings = crawl_settings(fetching, awaited=_AWAITED)
        await self.engine.run_spider(RenderingSpider, settings, session, page)
        return page.fetch
