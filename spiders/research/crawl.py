"""The crawl of a research Run: its spiders, how they read sites, and how the engine executes it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import scrapy
from msgspec import Struct, field
from msgspec.structs import replace
from typing_extensions import override

from livedata.extraction.page import Page
from livedata.extraction.page_lines import has_scripts, page_lines
from livedata.extraction.work import TooMuchWork
from livedata.model import ids
from livedata.model.errors import LivedataError
from livedata.model.harvest import Step
from livedata.model.problem import Params, Problem, Remedy
from livedata.model.research.answers import PageText, Unread
from livedata.model.research.outcome import ResearchOutcome
from livedata.research.ports import Model, Ports, Recorder, Search
from spiders.browser.shared_browser import NoBrowser
from spiders.crawl.engine import PATIENCE, CrawlEngine
from spiders.crawl.page_reader import PageFetch, PageReader
from spiders.crawl.settings import FetchConfig, crawl_settings
from spiders.research.calls import BoundedModel, BoundedSearch, check, over
from spiders.session import CrawlSession, Deadline, ProxyRoute, SiteTurn

_SHORT = 200
"""Characters of text below which a page with scripts may show more in a browser."""
_MOST_TITLE = 500
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
        sites = _PageSites(session, PageReader(self.crawler, {}), turn, self._research.render)
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
        self._page.fetch = await reader.read(_new_fetch(1, self._page.url))
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


class _PageSites(Struct):
    """Reads pages one after the other, each at the turn of its site.

    `render` reads a page in a browser; None if there is none.
    """

    session: CrawlSession
    reader: PageReader
    turn: SiteTurn
    render: Callable[[str], Awaitable[PageFetch | None]]
    number: int = 0

    async def read(self, url: str) -> PageText | Unread:
        """The page, or why it cannot be read. Raises RunOver."""
        check(self.session.deadline)
        self.session.url = url
        self.number += 1
        await self.turn.move(url)
        fetch = await self.reader.read(_new_fetch(self.number, url))
        answer = await self._understood(fetch)
        if isinstance(answer, PageText) and len(answer.text) < _SHORT and _is_scripted(fetch):
            answer = await self._rendered(url, answer)
        if isinstance(answer, PageText) and not answer.text:
            return Unread(url, "empty_body", answer.status)
        return answer

    async def leave(self) -> None:
        """Give up the turn of the last site, while a model is still asked about its pages."""
        await self.turn.leave()

    async def _rendered(self, url: str, static: PageText) -> PageText | Unread:
        """The page as its scripts show it; as it was without them if there is no browser."""
        fetch = await self.render(url)
        shown = static if fetch is None else await self._understood(fetch)
        return shown if isinstance(shown, PageText) else static

    async def _understood(self, fetch: PageFetch) -> PageText | Unread:
        failure, deadline = fetch.failure, self.session.deadline
        if failure is None:
            # In a thread, because other Runs of the process go on while a large page is read.
            return await asyncio.to_thread(_page_text, fetch)
        if deadline.over.is_set() or deadline.cancelled:
            raise over(deadline)
        return Unread(fetch.url, failure.reason, failure.status, failure.origin)


def _new_fetch(number: int, url: str) -> PageFetch:
    """A page to be fetched; its step is none of the trace, in which the harness writes."""
    return PageFetch(number, url, Step("read", ids.now(), url=url))


def _page_text(fetch: PageFetch) -> PageText | Unread:
    page, response = fetch.page, fetch.response
    assert page is not None
    assert response is not None
    try:
        lines = page_lines(page)
    except TooMuchWork:
        return Unread(fetch.url, "limit_exceeded", response.status)
    return PageText(
        url=fetch.url,
        final_url=response.url,
        status=response.status,
        title=_title(page),
        text=lines.text,
        links=lines.links,
        digest=page.digest,
        at=fetch.at,
        cut=lines.cut,
    )


def _title(page: Page) -> str:
    return " ".join((page.title or "").split())[:_MOST_TITLE]


def _is_scripted(fetch: PageFetch) -> bool:
    return fetch.page is not None and has_scripts(fetch.page)
