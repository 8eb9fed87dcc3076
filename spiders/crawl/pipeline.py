"""Gathers the pages of a crawl into its harvest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from scrapy.crawler import Crawler

from livedata.model.harvest import Harvest, PageFailure, PageRead, PageSnapshot, Step, StopReason
from livedata.model.problem import Problem
from spiders.session.session import CrawlSession, session_of

_BROKE = Problem("run.broke_off")


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """How a crawl ended, and what it took: the spider's last item, after all of its pages."""

    ending: StopReason
    failure: PageFailure | None = None
    attempts: int = 0
    refusals: int = 0
    overflow: Problem | None = None
    steps: list[Step] = field(default_factory=list)
    seen: list[PageSnapshot] = field(default_factory=list)


class HarvestPipeline:
    """Leaves the harvest in the session when the spider closes."""

    def __init__(self, session: CrawlSession) -> None:
        self._session = session
        self._pages: list[PageRead] = []
        # Scrapy swallows what a spider raises and closes it as if it were done, so a crawl is
        # broken until its last item says how it ended.
        self._end = CrawlEnd(StopReason("page_failed", _BROKE))

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """One pipeline per Run."""
        return cls(session_of(crawler))

    def process_item(self, item: PageRead | CrawlEnd) -> PageRead | CrawlEnd:
        """Keep a page, or how the crawl ended."""
        if isinstance(item, PageRead):
            self._pages.append(item)
        else:
            self._end = item
        return item

    def close_spider(self) -> None:
        """Put the pages and the end together."""
        end = self._end
        self._session.harvest = Harvest(
            pages=self._pages,
            ending=end.ending,
            failure=end.failure,
            attempts=end.attempts,
            refusals=end.refusals,
            overflow=end.overflow,
            steps=end.steps,
            seen=end.seen,
        )
