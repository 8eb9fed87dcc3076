"""What is to be crawled, and who hears of it meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct, field
from scrapy import Request
from scrapy.http import Response

from livedata.model.harvest import PageRead
from livedata.model.recipe import Recipe
from spiders.crawl.settings import FetchConfig

Ask = Callable[[Request], Awaitable[Response]]
"""Asks for a page: the answer, to which redirects have led and which is unpacked."""


def directly(ask: Ask) -> Ask:
    """Nothing stands between a crawl and the site."""
    return ask


async def _no_wait(_site: str) -> None:
    """No turn is waited for: no other Run would wait for this crawl."""


class CrawlJob(Struct, frozen=True):
    """A recipe to be crawled as an installation fetches pages.

    `followers` are the addresses of the pages of the last accepted Run, in their order. Setting
    `cancel` ends the crawl at once. `on_page` is told of each page that was read, and
    `take_turn` is awaited before the pages lead on to another site. `between` stands between the
    crawl and the site: it may look at what is asked and answered, or answer in the site's place.
    """

    recipe: Recipe
    fetching: FetchConfig
    followers: Sequence[str] = ()
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
    on_page: Callable[[PageRead], None] = lambda _page: None
    take_turn: Callable[[str], Awaitable[None]] = _no_wait
    between: Callable[[Ask], Ask] = directly
