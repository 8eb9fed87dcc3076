"""What serve and worker have in common: crawl workers, schedules that queue for them, notices."""

from __future__ import annotations

import os
import time
from types import TracebackType

from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.store import Store
from livedata.worker.crawl_worker import GRACE, CrawlWorker
from livedata.worker.delivery.courier import Courier
from livedata.worker.schedules import Schedules

MOST_BY_DEFAULT = 4
KILLED_ABOVE = 2
"""A crawl worker makes room above what it may hold, and is killed above so many times as much."""


def default_crawlers() -> int:
    """How many crawl workers suit this machine: one per core, at most 4."""
    return min(os.cpu_count() or 1, MOST_BY_DEFAULT)


class Supervisor:
    """Works while its block is open; at its end every Run goes back into the queue."""

    def __init__(
        self,
        store: Store,
        zone: str,
        crawlers: int,
        memory: int,
        targets: TargetPolicy,
        *,
        schedules: bool,
        json_log: bool = False,
        public_url: str = "",
    ) -> None:
        # Taken before `Schedules` sets this process to UTC: a browser shows pages by the local
        # time, so crawl workers keep it.
        environment = dict(os.environ)
        self._crawlers = [
            CrawlWorker(store, memory, environment, json_log=json_log) for _ in range(crawlers)
        ]
        self._schedules = Schedules(store, zone) if schedules else None
        self._courier = Courier(store, targets, public_url=public_url)
        self._deadline: float | None = None

    def __enter__(self) -> Supervisor:
        for crawler in self._crawlers:
            crawler.start()
        if self._schedules:
            self._schedules.start()
        self._courier.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        deadline = self.begin_stop()
        if self._schedules:
            self._schedules.finish_stop(deadline)
        self._courier.finish_stop(deadline)
        for crawler in self._crawlers:
            crawler.finish_stop(deadline)

    def begin_stop(self) -> float:
        """Tell all to end, and wait for nothing; until when they may take, by the monotonic clock.

        A signal handler may call this.
        """
        # All are told before one is waited for: they end side by side.
        if self._deadline is None:
            self._deadline = time.monotonic() + GRACE
            if self._schedules:
                self._schedules.begin_stop()
            self._courier.begin_stop()
            for crawler in self._crawlers:
                crawler.begin_stop()
        return self._deadline
