"""One reactor for a process, and crawls within it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scrapy.crawler import AsyncCrawlerRunner
from scrapy.settings import Settings
from scrapy.utils.reactor import install_reactor

from livedata.model.harvest import Harvest, StopReason
from livedata.model.recipe import Recipe
from spiders.browser.shared_browser import SHARED, NoBrowser
from spiders.crawl.pipeline import Sink
from spiders.crawl.settings import FetchConfig, settings_for
from spiders.crawl.spider import OnPage, SourceSpider, TakeTurn
from spiders.fetch.resolver import GuardedResolver


@contextmanager
def reactor() -> Iterator[asyncio.AbstractEventLoop]:
    """The process's one reactor, which can be started only once: its running event loop."""
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor as installed

    running: Any = installed
    logging.getLogger("scrapy").setLevel(logging.CRITICAL)
    logging.getLogger("twisted").setLevel(logging.CRITICAL)
    running.installNameResolver(GuardedResolver(running.nameResolver))
    running.getThreadPool().adjustPoolsize(1, 20)
    loop = asyncio.get_event_loop()
    running.startRunning(installSignalHandlers=False)
    try:
        yield loop
    finally:
        loop.run_until_complete(SHARED.close())
        running.fireSystemEvent("shutdown")


async def crawl(
    recipe: Recipe,
    fetching: FetchConfig,
    sink: Sink,
    cancel: asyncio.Event,
    on_page: OnPage,
    take_turn: TakeTurn,
) -> None:
    """Execute a recipe; `sink` gets what it gathered, however it ended.

    `on_page` is told each page, and `take_turn` waited for before pages of another site.

    Scrapy swallows what a sink raises: whoever must know looks at what the sink left behind.
    """
    if recipe.source.render == "browser":
        try:
            await _browser_or_cancel(fetching.browser, cancel)
        except NoBrowser as error:
            sink(Harvest([], StopReason("page_failed", error.problem)))
            return
    runner = AsyncCrawlerRunner(Settings(settings_for(recipe.source, fetching)))
    await runner.crawl(
        SourceSpider,
        recipe=recipe,
        fetching=fetching,
        sink=sink,
        cancel=cancel,
        on_page=on_page,
        take_turn=take_turn,
    )


async def _browser_or_cancel(named: str, cancel: asyncio.Event) -> None:
    """Until the browser is there; a Run that is cancelled meanwhile does not wait for it."""
    starting = asyncio.ensure_future(SHARED.start(named))
    cancelled = asyncio.ensure_future(cancel.wait())
    await asyncio.wait({starting, cancelled}, return_when=asyncio.FIRST_COMPLETED)
    cancelled.cancel()
    if starting.done():
        starting.result()
    else:
        starting.add_done_callback(lambda done: done.cancelled() or done.exception())
