"""What serve and worker have in common: crawl workers, or an engine; looks, schedules, notices."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Event, Thread
from types import TracebackType

from livedata.rules.network.targets import TargetPolicy
from livedata.store.database.store import Store
from livedata.worker.crawlers import CrawlWorker
from livedata.worker.delivery.courier import Courier
from livedata.worker.engines import Engine, Enqueuer
from livedata.worker.looks import LookWorker
from livedata.worker.schedules import Schedules

GRACE = 10.0
"""The seconds in which a worker that is stopped gives its Runs back."""
ROUND = 1.0
"""The seconds between two looks at the outbox, and at the looks that wait."""
MOST_BY_DEFAULT = 4
KILLED_ABOVE = 2
"""A crawl worker makes room above what it may hold, and is killed above so many times as much."""


def default_crawlers() -> int:
    """How many crawl workers suit this machine: one per core, at most 4."""
    return min(os.cpu_count() or 1, MOST_BY_DEFAULT)


class Dispatcher:
    """A thread that goes round every second: each of `rounds` begins what waits, and never blocks.

    One for all of them, since what an idle process costs is that it wakes.
    """

    def __init__(self, *rounds: Callable[[], None]) -> None:
        self._rounds = rounds
        self._stopping = Event()
        self._thread = Thread(target=self._work, name="dispatcher", daemon=True)

    def start(self) -> None:
        """Start; the first round is at once."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Stop after the round in hand, and wait for nothing."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until it has stopped; `deadline` is of the monotonic clock."""
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        while not self._stopping.is_set():
            for dispatch in self._rounds:
                dispatch()
            self._stopping.wait(ROUND)


class Supervisor:
    """Works while its block is open; at its end every Run goes back into the queue.

    An `engine` gets Runs handed over; those it has are its own.
    """

    def __init__(
        self,
        store: Store,
        zone: str,
        crawlers: int,
        memory: int,
        targets: TargetPolicy,
        *,
        schedules: bool,
        spread: float = 0,
        json_log: bool = False,
        public_url: str = "",
        engine: Engine | None = None,
    ) -> None:
        # Taken before `Schedules` sets this process to UTC: a browser shows pages by the local
        # time, so crawl workers keep it.
        environment = dict(os.environ)
        self._crawlers = [
            CrawlWorker(store, memory, environment, json_log=json_log) for _ in range(crawlers)
        ]
        self._looks = LookWorker(store, memory, environment)
        self._schedules = Schedules(store, zone, spread) if schedules else None
        self._courier = Courier(store, targets, public_url=public_url)
        self._enqueuer = Enqueuer(store, engine) if engine else None
        handing_over = (self._enqueuer.dispatch,) if self._enqueuer else ()
        self._dispatcher = Dispatcher(self._courier.dispatch, self._looks.dispatch, *handing_over)
        self._deadline: float | None = None

    @property
    def executes(self) -> bool:
        """Whether Runs are executed here."""
        return bool(self._crawlers)

    def __enter__(self) -> Supervisor:
        for crawler in self._crawlers:
            crawler.start()
        if self._schedules:
            self._schedules.start()
        self._dispatcher.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None
    ) -> None:
        deadline = self.begin_stop()
        if self._schedules:
            self._schedules.finish_stop(deadline)
        self._dispatcher.finish_stop(deadline)
        self._courier.finish_stop(deadline)
        self._looks.finish_stop(deadline)
        if self._enqueuer:
            self._enqueuer.finish_stop(deadline)
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
            self._dispatcher.begin_stop()
            self._courier.begin_stop()
            self._looks.begin_stop()
            if self._enqueuer:
                self._enqueuer.begin_stop()
            for crawler in self._crawlers:
                crawler.begin_stop()
        return self._deadline
