"""Gathers the pages of a Run and, at its end, hands them to whoever acts on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Self

from scrapy.crawler import Crawler

from livedata.model.harvest import Harvest, PageRead, StopReason
from livedata.model.problem import Problem

Sink = Callable[[Harvest], None]

_BROKE = Problem("run.broke_off")


class HarvestPipeline:
    """One batch per page comes in; the spider's last item is how it ended.

    Scrapy swallows what goes wrong, so a crawl without an ending is one that broke.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._pages: list[PageRead] = []
        self._end: Harvest | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """One pipeline per Run."""
        return cls(crawler)

    def process_item(self, item: PageRead | Harvest) -> PageRead | Harvest:
        """Keep a page, or how the crawl ended."""
        if isinstance(item, PageRead):
            self._pages.append(item)
        else:
            self._end = item
        return item

    def close_spider(self) -> None:
        """Hand over what was gathered."""
        broke = Harvest([], StopReason("page_failed", _BROKE))
        sink: Sink = self._crawler.spider.sink  # type: ignore[union-attr]  # SourceSpider
        sink(replace(self._end or broke, pages=self._pages))
