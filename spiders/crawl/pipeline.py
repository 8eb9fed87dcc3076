"""Gathers the pages of a crawl into its harvest."""

from __future__ import annotations

from typing import Self

from msgspec.structs import replace
from scrapy.crawler import Crawler

from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.problem import Problem
from spiders.session.session import CrawlSession, session_of

_BROKE = Problem("run.broke_off")


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
