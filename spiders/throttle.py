"""The throttle of a process: the requests to a site take turns, in the order in which they come.

A site is host and port. The store lets one Run at a time ask a site, over all processes, when a Run
begins and when a link leads it to another site. Within a Run, and at sites to which redirects lead,
each request takes its turn here.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec import Struct, field


class _Site(Struct):
    in_flight: int = 0
    asked_at: float = float("-inf")
    backoff_until: float = float("-inf")
    crawl_delay: float = 0.0
    waiting: deque[tuple[int, asyncio.Future[None]]] = field(default_factory=deque)

    def admit(self) -> None:
        """Let in whose turn it is; nobody overtakes the first in the queue."""
        # A later request that shares the site could enter before a first one that wants it for
        # itself; enough of them would keep the first out for ever.
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
            # A place may be given in the same moment in which its request is cancelled: then it is
            # held already, and has to be left.
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
            # Meanwhile an answer may ask for a longer pause, so the time is looked at once more.
            await asyncio.sleep(left)
        self.asked_at = time.monotonic()


class SiteThrottle:
    """The turns at each site that this process has asked."""

    def __init__(self) -> None:
        # Sites stay, as a crawl delay holds for later Runs too. A worker is recycled before many
        # add up.
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
        """Ask `site` nothing for so long, because it said so."""
        here = self._sites[site]
        here.backoff_until = max(here.backoff_until, time.monotonic() + seconds)

    def slow_down(self, site: str, crawl_delay: float) -> None:
        """Keep the crawl delay that robots.txt of `site` asks for."""
        self._sites[site].crawl_delay = crawl_delay

    def crawl_delay(self, site: str) -> float:
        """The crawl delay of robots.txt of `site`; 0 if it asked for none."""
        return self._sites[site].crawl_delay
