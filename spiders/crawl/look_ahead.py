"""Pages whose addresses are known are read ahead, and handed out in page order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from livedata.extraction.pagination import Paginator
from livedata.model import ids
from livedata.model.harvest import Step
from livedata.model.recipe import UrlPatternPages
from livedata.rules.network.targets import share_site
from spiders.crawl.page_reader import PageFetch

SENDING = 0.002
"""Seconds in which what was begun gets out, before extracting a page keeps the process busy."""


class LookAhead:
    """Keeps `window` pages of a url-pattern under way, after the first, which is read alone.

    Every page that is begun leaves its step in `steps`, even if nobody wants it any more.
    """

    def __init__(
        self,
        paginator: Paginator,
        read: Callable[[PageFetch], Awaitable[PageFetch]],
        window: Callable[[], int],
        steps: list[Step],
    ) -> None:
        self._paginator = paginator
        self._read = read
        self._window = window
        self._steps = steps
        self._begun: dict[int, tuple[PageFetch, asyncio.Future[PageFetch]]] = {}

    async def page(self, number: int, url: str) -> PageFetch:
        """Page `number`; if more follow, they are begun before it is handed out."""
        self._begin(number, url)
        fetch = await self._begun[number][1]
        del self._begun[number]
        if fetch.page is not None and fetch.failure is None:
            await self._begin_after(fetch)
        return fetch

    async def drop(self) -> None:
        """Wait for what nobody wants once the Run is over; its results do not count."""
        begun = list(self._begun.values())
        await asyncio.gather(*(task for _, task in begun), return_exceptions=True)
        for fetch, _ in begun:
            # A failure behind the end of the list is none: nobody asked for that page. It costs
            # nothing either, because only pages that were handed out are charged.
            fetch.step.status, fetch.step.failure = "cancelled", None
            fetch.step.ended = fetch.step.ended or ids.now()

    async def _begin_after(self, fetch: PageFetch) -> None:
        pagination = self._paginator.recipe.pagination
        window = self._window()
        if not isinstance(pagination, UrlPatternPages) or window == 1:
            return
        if self._paginator.is_last(fetch.links):
            return
        # No site is asked for a page behind the limit, which the Run could not take.
        last = min(fetch.number + window, self._paginator.recipe.max_pages)
        for later in range(fetch.number + 1, last + 1):
            url = pagination.page_url(later)
            # A number in the host makes another site of it, at which this Run has no turn yet.
            if share_site(url, fetch.url):
                self._begin(later, url)
        # Extracting the page in hand keeps the process busy: the requests leave before it.
        await asyncio.sleep(SENDING)

    def _begin(self, number: int, url: str) -> None:
        if number in self._begun:
            return
        step = Step("read", ids.now(), url=url)
        self._steps.append(step)
        fetch = PageFetch(number, url, step)
        self._begun[number] = fetch, asyncio.ensure_future(self._read(fetch))
