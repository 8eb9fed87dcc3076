"""The one spider: executes any recipe, one page after the other."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import scrapy
from typing_extensions import override

from livedata.extraction.pagination import Paginator, canonical_url
from livedata.extraction.records import Extractor
from livedata.model import ids
from livedata.model.harvest import (
    Harvest,
    PageFailure,
    PageRead,
    PageSnapshot,
    Record,
    Step,
    StopReason,
)
from livedata.model.problem import Problem, Remedy
from livedata.rules.network.targets import site_of
from spiders.crawl.job import CrawlJob
from spiders.crawl.look_ahead import LookAhead
from spiders.crawl.page_reader import PageFetch, PageReader, ended
from spiders.outcome.snapshot import shorten_to_items, take_snapshot
from spiders.session.session import CrawlSession

_NO_PROXY = Problem("run.no_proxy", remedies=(Remedy("name_proxy"),))


class SourceSpider(scrapy.Spider):
    """Reads the pages of a recipe and yields them, then how it ended."""

    name = "livedata"

    def __init__(self, job: CrawlJob, session: CrawlSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._job = job
        self._session = session
        self._recipe = job.recipe
        self._site = session.site
        self._extractor = Extractor(job.recipe)
        self._paginator = Paginator(job.recipe, job.followers)
        self._steps = [Step("pin", ids.now(), ids.now(), "succeeded")]
        self._failure: PageFailure | None = None
        self._attempts = self._refusals = 0
        self._seen: list[PageSnapshot] = []
        self._emptied = False

    @override
    async def start(self) -> AsyncIterator[PageRead | Harvest]:
        """The pages in order, each as it is read, and at last a harvest without them."""
        ahead = self._ahead()
        missing = StopReason("page_failed", _NO_PROXY) if self._session.route.missing else None
        following: str | StopReason = missing or self._recipe.url
        number = 0
        self._session.deadline.begin()
        try:
            while isinstance(following, str):
                number += 1
                await self._move(following)
                fetch = await ahead.page(number, following)
                self._count(fetch)
                if fetch.failure is not None:
                    self._keep(fetch)
                    following = self._failed(fetch.failure)
                    break
                read = await self._extracted(fetch)
                self._keep(fetch, read.records)
                # Extraction stops at the deadline, so this page may lack records.
                if self._session.deadline.over.is_set():
                    following = self._failed(ended(fetch, self._session.deadline))
                    break
                following, read = self._next(read, fetch)
                self._job.on_page(read)
                yield read
        finally:
            # What is still under way notices the deadline and stops; then nothing of this Run can
            # reach a site after its end.
            self._session.deadline.end()
            await ahead.drop()
        overflow = self._extractor.overflow()
        counts = (self._attempts, self._refusals)
        yield Harvest([], following, self._failure, *counts, overflow, self._steps, self._seen)

    async def _move(self, url: str) -> None:
        """Wait for the turn of a site if the next page is of another one than the last."""
        try:
            site = site_of(url)
        except ValueError:
            return  # it has no site: reading it fails
        if site not in ("", self._site):
            # Others hold the site for as long as they like, so this is no time of the Run's.
            with self._session.deadline.paused():
                await self._job.take_turn(site)
            self._site = site

    def _count(self, fetch: PageFetch) -> None:
        """Count what a page took, also of a page that failed."""
        self._attempts += fetch.attempts
        self._refusals += fetch.refusals

    def _keep(self, fetch: PageFetch, records: Sequence[Record] = ()) -> None:
        """Keep what the site answered, in case the Run has to show it."""
        response, page = fetch.response, fetch.page
        if response is None:
            return
        links = self._paginator.links(page) if page else None
        snapshot = take_snapshot(fetch.number, fetch.url, response, page, links)
        # Only what stopped the Run is judged as a whole: a page that failed, or the first one
        # without items. All pages of a Run would take too much memory.
        if fetch.failure is None and (records or self._emptied):
            snapshot = shorten_to_items(snapshot, records)
        self._emptied |= fetch.failure is None and not records
        self._seen.append(snapshot)

    def _ahead(self) -> LookAhead:
        items, is_last = self._extractor.items, self._paginator.is_last
        meta = {"playwright": True} if self._recipe.render == "browser" else {}
        reader = PageReader(self.crawler, items, is_last, meta)
        return LookAhead(self._paginator, reader.read, lambda: self._session.window, self._steps)

    def _next(self, read: PageRead, fetch: PageFetch) -> tuple[str | StopReason, PageRead]:
        """What follows a page, and the page with what its links say."""
        overflow = self._extractor.overflow()
        if overflow is not None:
            return StopReason("check_failed", overflow), read
        assert fetch.page is not None
        following = self._paginator.advance(read, fetch.page)
        return following, self._paginator.with_links(read, fetch.page, following)

    def _failed(self, failure: PageFailure) -> StopReason:
        self._failure = failure
        if failure.reason == "cancelled":
            return StopReason("cancelled", Problem("run.cancelled"))
        return StopReason("page_failed", failure.problem)

    async def _extracted(self, fetch: PageFetch) -> PageRead:
        """The records of a page: in page order, because what a Run may gather is counted."""
        page, response = fetch.page, fetch.response
        assert page is not None
        assert response is not None
        step = Step("extract", ids.now(), url=page.url)
        self._steps.append(step)
        records, matches = await self._extractor.records(page, self._session.deadline.over)
        step.ended = ids.now()
        step.status = "cancelled" if self._session.deadline.over.is_set() else "succeeded"
        return PageRead(
            number=fetch.number,
            url=fetch.url,
            final_url=response.url,
            canonical=canonical_url(response.url),
            status=response.status,
            title=page.title,
            digest=page.digest,
            at=fetch.at,
            records=records,
            matches=matches,
            # Some lists answer so behind their last page: it is an end, and no page of the list.
            charged=response.status not in {404, 410},
            links=self._paginator.links(page),
        )
