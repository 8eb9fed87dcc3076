"""Whose turn it is to ask a site: the requests of all Runs of this process, in the order they came.

A site is host and port (decisions, "Politeness"). That only one Run at a time asks a site, over all
processes, is seen to in the store, where Runs begin and where a link leads one to another site;
within it, and where redirects lead, each request takes its turn here.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Site:
    in_flight: int = 0
    asked_at: float = float("-inf")
    backoff_until: float = float("-inf")
    crawl_delay: float = 0.0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)

    def admit(self) -> None:
        """Let those in whose turn it is; nobody overtakes the first in the queue."""
        while self.waiting:
            at_once, place = self.waiting[0]
            if not place.done():
                if self.in_flight >= at_once:
                    return
                self.in_flight += 1
                place.set_result(None)
            self.waiting.popleft()

    async def enter(self, at_once: int) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((at_once, place))
        self.admit()
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self.admit()
            else:
                self.leave()
            raise

    def leave(self) -> None:
        self.in_flight -= 1
        self.admit()

    async def pause(self, pause: float) -> None:
        """Until the pause after the request before is over, and nothing says to wait longer."""
        while True:
            since = self.asked_at + max(pause, self.crawl_delay)
            left = max(since, self.backoff_until) - time.monotonic()
            if left <= 0:
                break
            await asyncio.sleep(left)
        self.asked_at = time.monotonic()


class SiteThrottle:
    """The sites that this process has asked something."""

    def __init__(self) -> None:
        self._sites: defaultdict[str, _Site] = defaultdict(_Site)

    @asynccontextmanager
    async def turn(self, site: str, pause: float, at_once: int) -> AsyncIterator[None]:
        """Hold one of the `at_once` places at `site`, `pause` seconds after the last request."""
        here = self._sites[site]
        await here.enter(at_once)
        try:
            await here.pause(pause)
            yield
        finally:
            here.leave()

    def back_off(self, site: str, seconds: float) -> None:
        """Nobody asks `site` for so long: it said so."""
        here = self._sites[site]
        here.backoff_until = max(here.backoff_until, time.monotonic() + seconds)

    def slow_down(self, site: str, crawl_delay: float) -> None:
        """What robots.txt of `site` asks for between two requests."""
        self._sites[site].crawl_delay = crawl_delay

    def crawl_delay(self, site: str) -> float:
        """What robots.txt of `site` asked for; 0 where it did not."""
        return self._sites[site].crawl_delay
