"""Executes a research Run in the crawl engine of the process."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.errors import LivedataError
from livedata.model.problem import Params, Problem, Remedy
from livedata.model.research.outcome import ResearchOutcome
from spiders.browser.shared_browser import NoBrowser
from spiders.crawl.engine import PATIENCE, CrawlEngine
from spiders.crawl.page_reader import PageFetch
from spiders.crawl.settings import crawl_settings
from spiders.research.spider import (
    RenderedPage,
    RenderingSpider,
    Research,
    ResearchJob,
    ResearchSpider,
)
from spiders.session.deadline import Deadline
from spiders.session.proxy_route import ProxyRoute
from spiders.session.session import CrawlSession

_REPORT = (Remedy("report"),)
# The selector of what has to be there before a page may count as shown: all that it has.
_AWAITED = {"items": "body", "end": "", "next": ""}


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
