"""The one spider: executes any recipe, one page after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import scrapy
from msgspec import Struct
from scrapy.http import Response
from typing_extensions import override

from livedata.extraction.page import Page, decode
from livedata.extraction.pagination import Paginator, canonical_url
from livedata.extraction.records import Extractor
from livedata.extraction.work import TooMuchWork
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
from livedata.rules.diagnosis.page_snapshot import shorten
from spiders.crawl.job import CrawlJob
from spiders.crawl.page_reader import LookAhead, PageFetch, PageReader, ended
from spiders.fetch.heads import content_type, is_text
from spiders.outcome.fetch_errors import classify
from spiders.outcome.responses import failure_at
from spiders.session import CrawlSession, SiteTurn

MOST_RECORDS = 50
"""The records whose texts show where on the page the items are."""
_NO_PROXY = Problem("run.no_proxy", remedies=(Remedy("name_proxy"),))


class _Extracted(Struct, frozen=True):
    """A page with its records, and the address of the next one or how the Run ends."""

    page: PageRead
    following: str | StopReason


class SourceSpider(scrapy.Spider):
    """Reads the pages of a recipe and yields them, then how it ended."""

    name = "livedata"

    def __init__(self, job: CrawlJob, session: CrawlSession, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._job = job
        self._session = session
        self._recipe = job.recipe
        self._turn = SiteTurn(session, job.take_turn)
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
                self._session.url = following
                await self._turn.move(following)
                fetch = await ahead.page(number, following)
                self._count(fetch)
                if fetch.failure is not None:
                    await asyncio.to_thread(self._keep, fetch)
                    following = self._failed(fetch.failure)
                    break
                read = await self._extracted(fetch)
                if isinstance(read, PageFailure):
                    following = self._failed(read)
                    break
                following = read.following
                self._job.on_page(read.page)
                yield read.page
        finally:
            # What is still under way notices the deadline and stops; then nothing of this Run can
            # reach a site after its end.
            self._session.deadline.end()
            await ahead.drop()
        overflow = self._extractor.overflow()
        counts = (self._attempts, self._refusals)
        yield Harvest([], following, self._failure, *counts, overflow, self._steps, self._seen)

    def _count(self, fetch: PageFetch) -> None:
        """Count what a page took, also of a page that failed."""
        self._attempts += fetch.attempts
        self._refusals += fetch.refusals

    def _keep(self, fetch: PageFetch, records: Sequence[Record] | None = ()) -> None:
        """Keep what the site answered, in case the Run has to show it.

        `records` is None for a page that was not read to its end.
        """
        response, page = fetch.response, fetch.page
        if response is None:
            return
        snapshot = _snapshot(fetch.number, fetch.url, response, page, fetch.links)
        # Only what stopped the Run is judged as a whole: a page that failed, or the first one
        # without items. All pages of a Run would take too much memory.
        if fetch.failure is None and (records is None or records or self._emptied):
            snapshot = _shortened(snapshot, records or ())
        self._emptied |= fetch.failure is None and records is not None and not records
        self._seen.append(snapshot)

    def _ahead(self) -> LookAhead:
        meta = {"playwright": True} if self._recipe.render == "browser" else {}
        reader = PageReader(
            self.crawler, meta, self._extractor.items, self._paginator, self._job.between
        )
        return LookAhead(self._paginator, reader.read, lambda: self._session.window, self._steps)

    def _failed(self, failure: PageFailure) -> StopReason:
        self._failure = failure
        if failure.reason == "cancelled":
            return StopReason("cancelled", Problem("run.cancelled"))
        return StopReason("page_failed", failure.problem)

    async def _extracted(self, fetch: PageFetch) -> _Extracted | PageFailure:
        """What a page gave, or why it gave nothing."""
        assert fetch.page is not None
        assert fetch.response is not None
        deadline = self._session.deadline
        step = Step("extract", ids.now(), url=fetch.page.url, status="failed")
        self._steps.append(step)
        try:
            # In a thread, because other Runs of the process go on while a large page is read.
            extracted = await asyncio.to_thread(self._extract, fetch, fetch.page, fetch.response)
        except TooMuchWork as error:
            problem = classify(error, deadline.seconds)
            status, final = fetch.response.status, fetch.response.url
            step.failure = failure_at(fetch.number, fetch.url, problem, status, final)
            # In a thread as well: a long page is searched for the part that is kept.
            await asyncio.to_thread(self._keep, fetch, None)
            return step.failure
        finally:
            step.ended = ids.now()
        # Extraction stops at the deadline, so this page may lack records.
        step.status = "cancelled" if deadline.over.is_set() else "succeeded"
        return ended(fetch, deadline) if deadline.over.is_set() else extracted

    def _extract(self, fetch: PageFetch, page: Page, response: Response) -> _Extracted:
        """The records of a page and what follows it: in page order, because both are counted."""
        records, matches = self._extractor.records(page, self._session.deadline.over.is_set)
        self._keep(fetch, records)
        read = PageRead(
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
            links=fetch.links,
        )
        overflow = self._extractor.overflow()
        if overflow is not None:
            return _Extracted(read, StopReason("check_failed", overflow))
        following = self._paginator.advance(read, page)
        read = self._paginator.with_links(read, page, following)
        self._extractor.work.include(page.work)
        return _Extracted(read, following)


def _snapshot(
    number: int, url: str, response: Response, page: Page | None, links: int | None
) -> PageSnapshot:
    """The whole answer to the request for page `number`; `page` is None if it is not one."""
    text = _text(response) if page is None else page.markup
    return PageSnapshot(
        number=number,
        url=url,
        final_url=response.url,
        status=response.status,
        title=None if page is None else page.title,
        markup=text.encode(),
        cut=False,
        links=links,
        screenshot=response.meta.get("screenshot"),
        parsed=page is not None,
    )


def _shortened(page: PageSnapshot, records: Sequence[Record]) -> PageSnapshot:
    """A page cut down to the part in which its items are."""
    texts = (text for record in records[:MOST_RECORDS] for text in record.texts if text)
    return shorten(page, texts)


def _text(response: Response) -> str:
    """The text of an answer that is no page; nothing of a picture or a document."""
    return decode(response.body, content_type(response)) if is_text(response) else ""
