"""Pages read before they are wanted, where their addresses are known; handed out in page order."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from livedata.model.harvest import Step
from livedata.model.source import Source, UrlPattern
from spiders.reading import Reading, now


class LookAhead:
    """Keeps `window` pages of a url-pattern under way, and the first page alone.

    Every page that is begun leaves its step in `steps`, those too that nobody wants any more.
    """

    def __init__(
        self,
        source: Source,
        read: Callable[[Reading], Awaitable[Reading]],
        window: Callable[[], int],
        steps: list[Step],
    ) -> None:
        self._source = source
        self._read = read
        self._window = window
        self._steps = steps
        self._begun: dict[int, tuple[Reading, asyncio.Future[Reading]]] = {}

    async def page(self, number: int, url: str) -> Reading:
        """Page `number`; while it is read, those after it are begun."""
        self._begin(number, url)
        _, task = self._begun[number]
        pagination = self._source.pagination
        if number > 1 and isinstance(pagination, UrlPattern) and not task.done():
            last = min(number + self._window() - 1, self._source.max_pages)
            for later in range(number + 1, last + 1):
                self._begin(later, pagination.page_url(pagination.start_page + later - 1))
        reading = await task
        del self._begun[number]
        return reading

    async def drop(self) -> None:
        """Leave what nobody wants, once the Run is over: however it went, it does not count."""
        begun = list(self._begun.values())
        await asyncio.gather(*(task for _, task in begun), return_exceptions=True)
        for reading, _ in begun:
            reading.step.status, reading.step.failure = "cancelled", None
            reading.step.ended = reading.step.ended or now()

    def _begin(self, number: int, url: str) -> None:
        if number in self._begun:
            return
        step = Step("read", now(), url=url)
        self._steps.append(step)
        reading = Reading(number, url, step)
        self._begun[number] = reading, asyncio.ensure_future(self._read(reading))
