"""One page, fetched as a Run fetches it, and the lists that are on it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct

from livedata.extraction.lists.page_lists import Lists, find_lists
from livedata.extraction.page import Page, PageTooComplex
from livedata.model.harvest import Harvest
from livedata.model.recipe import Recipe, Render
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.job import CrawlJob
from spiders.crawl.settings import FetchConfig

_NOTHING: Final = "livedata-nothing"
"""A selector that matches nothing, so that a page is kept whole."""
# Kept markup is decoded already: what a site or a page declares would decode it once more.
_HTML: Final = "text/html; charset=utf-8"


class FetchedPage(Struct, frozen=True):
    """What was seen of a page: its harvest, and its lists if it could be read."""

    harvest: Harvest
    page: Page | None
    lists: Lists | None


async def fetch_lists(
    engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig, like: Sequence[str] = ()
) -> FetchedPage:
    """Read one page as a Run does, and find its lists; with `like` those that hold these texts."""
    harvest, page = await fetch_page(engine, url, render, fetching)
    return FetchedPage(harvest, page, None if page is None else find_lists(page, like))


async def fetch_page(
    engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig
) -> tuple[Harvest, Page | None]:
    """Read one page as a Run does; without a page, the harvest says why."""
    harvest = await _crawled(engine, url, render, fetching)
    snapshot = next((seen for seen in reversed(harvest.seen) if seen.parsed), None)
    if not harvest.pages or snapshot is None:
        return harvest, None
    return harvest, Page(snapshot.markup, _HTML, snapshot.final_url)


async def fetch_any_answer(
    engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig
) -> Page | None:
    """What is answered at an address, also if it says that there is no such page."""
    harvest = await _crawled(engine, url, render, fetching)
    for snapshot in reversed(harvest.seen):
        with suppress(PageTooComplex):
            return Page(snapshot.markup, _HTML, snapshot.final_url)
    return None


async def _crawled(engine: CrawlEngine, url: str, render: Render, fetching: FetchConfig) -> Harvest:
    blank = Recipe(
        version=1,
        url=url,
        render=render,
        item_selector=_NOTHING,
        fields=(),
        identity=(),
        composite=False,
        pagination=None,
        max_pages=1,
        max_items=1,
        minimum_items=0,
        proxy="auto",
        ignore_robots=False,
    )
    return await engine.crawl(CrawlJob(blank, fetching))
