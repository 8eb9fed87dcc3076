"""The one spider: executes any recipe, one page after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import scrapy
from typing_extensions import override

from livedata.extraction.pagination import Paginator, canonical_url
from livedata.extraction.records import Extractor
from livedata.model.harvest import Harvest, PageFailure, PageRead, PageSnapshot, Step, StopReason
from livedata.model.problem import Problem, Remedy
from livedata.model.recipe import Recipe
from livedata.rules.network.targets import site_of
from spiders.crawl.deadline import Deadline
from spiders.crawl.look_ahead import LookAhead
from spiders.crawl.page_reader import PageFetch, PageReader, ended, now
from spiders.crawl.pipeline import Sink
from spiders.crawl.settings import FetchConfig
from spiders.fetch.proxy_route import ProxyRoute
from spiders.fetch.throttle import TURNS
from spiders.outcome.snapshot import take_snapshot

OnPage = Callable[[PageRead], None]
TakeTurn = Callable[[str], Awaitable[None]]

_NO_PROXY = Problem("run.no_proxy", remedies=(Remedy("name_proxy"),))


class SourceSpider(scrapy.Spider):
    """Reads the pages of a recipe and yields them, then how it ended.

    `sink` gets the harvest when the crawl closes; `cancel` ends it at once.
    """

    name = "livedata"

    def __init__(
        self,
        recipe: Recipe,
        fetching: FetchConfig,
        sink: Sink,
        cancel: asyncio.Event,
        on_page: OnPage,
        take_turn: TakeTurn,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        source = recipe.source
        self.sink = sink
        self.site = site_of(source.url)
        self.route = ProxyRoute(source.proxy, fetching.proxy)
        self.deadline = Deadline(cancel, fetching.run_timeout)
        self._source = source
        self._look_ahead = fetching.look_ahead
        self._on_page = on_page
        self._take_turn = take_turn
        self._turn = self.site
        self._extractor = Extractor(recipe)
        self._paginator = Paginator(source)
        self._steps = [Step("pin", now(), now(), "succeeded")]
        self._failure: PageFailure | None = None
        self._attempts = self._refusals = 0
        self._seen: list[PageSnapshot] = []
        self._rate_limited: Callable[[], bool] = lambda: False

    @property
    def window(self) -> int:
        """How many requests the source's site gets at once: one where it wants to be spared."""
        if self._source.render == "browser":
            return 1
        spared = TURNS.crawl_delay(self.site) > 0 or self._rate_limited()
        return 1 if spared else self._look_ahead

    @override
    async def start(self) -> AsyncIterator[Any]:
        """The pages in order, each as it is read, and at last a harvest without pages."""
        ahead = self._ahead()
        missing = StopReason("page_failed", _NO_PROXY) if self.route.missing else None
        following: str | StopReason = missing or self._source.url
        number = 0
        self.deadline.begin()
        try:
            while isinstance(following, str):
                number += 1
                await self._move(site_of(following))
                reading = await ahead.page(number, following)
                self._count(reading)
                if reading.failure is not None:
                    following = self._failed(reading.failure)
                    break
                read = await self._extracted(reading)
                if self.deadline.over.is_set():
                    following = self._failed(ended(reading, self.deadline))
                    break
                self._on_page(read)
                yield read
                following = self._next(read, reading)
        finally:
            self.deadline.end()
            await ahead.drop()
        overflow = self._extractor.overflow()
        counts = (self._attempts, self._refusals)
        yield Harvest([], following, self._failure, *counts, overflow, self._steps, self._seen)

    async def _move(self, site: str) -> None:
        """Wait for the turn of a site, where the next page is of another than the one before."""
        if site != self._turn:
            with self.deadline.paused():
                await self._take_turn(site)
            self._turn = site

    def _count(self, reading: PageFetch) -> None:
        """Keep what a page took, and what the site answered, whatever comes of it."""
        self._attempts += reading.attempts
        self._refusals += reading.refusals
        response, page = reading.response, reading.page
        if response is not None:
            links = self._paginator.links(page) if page else None
            picture = response.meta.get("screenshot")
            self._seen.append(
                take_snapshot(reading.number, reading.url, response, page, links, picture)
            )

    def _ahead(self) -> LookAhead:
        items, is_last = self._extractor.items, self._paginator.is_last
        meta = {"playwright": True} if self._source.render == "browser" else {}
        reader = PageReader(self.crawler, items, self.route, self.deadline, is_last, meta)
        self._rate_limited = lambda: reader.rate_limited
        return LookAhead(self._paginator, reader.read, lambda: self.window, self._steps)

    def _next(self, read: PageRead, reading: PageFetch) -> str | StopReason:
        overflow = self._extractor.overflow()
        if overflow is not None:
            return StopReason("check_failed", overflow)
        assert reading.page is not None
        return self._paginator.advance(read, reading.page)

    def _failed(self, failure: PageFailure) -> StopReason:
        self._failure = failure
        if failure.reason == "cancelled":
            return StopReason("cancelled", Problem("run.cancelled"))
        return StopReason("page_failed", failure.problem)

    async def _extracted(self, reading: PageFetch) -> PageRead:
        """The records of a page: in page order, because what a Run may gather is counted."""
        page, response = reading.page, reading.response
        assert page is not None
        assert response is not None
        step = Step("extract", now(), url=page.url)
        self._steps.append(step)
        records, matches = await self._extractor.records(page, self.deadline.over)
        step.ended = now()
        step.status = "cancelled" if self.deadline.over.is_set() else "succeeded"
        return PageRead(
            number=reading.number,
            url=reading.url,
            final_url=response.url,
            canonical=canonical_url(response.url),
            status=response.status,
            title=page.title,
            digest=page.digest,
            at=reading.at,
            records=records,
            matches=matches,
            charged=response.status not in {404, 410},
            links=self._paginator.links(page),
        )
