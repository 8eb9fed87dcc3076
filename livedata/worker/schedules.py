"""The schedules of a server: what is due is queued every few seconds, what is old goes hourly."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from threading import Event, Thread

import schedule

from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.services.scheduling import retention, scheduler
from livedata.store.database.store import Store

TICK = 5.0
"""The seconds between two looks at what is due."""
JUMP = 60_000_000
"""How far the clock moves by itself at most between two looks, in microseconds."""

log = logging.getLogger("livedata.schedules")


class Schedules:
    """A thread that takes what is due in a time zone, and does the housekeeping."""

    def __init__(self, store: Store, zone: str) -> None:
        self._store = store
        self._zone = zone
        self._stopping = Event()
        self._thread = Thread(target=self._work, name="schedules", daemon=True)

    def start(self) -> None:
        """Start; the first look is at once."""
        self._thread.start()

    def stop(self, deadline: float) -> None:
        """Stop after the transaction in hand; `deadline` is of the monotonic clock."""
        self._stopping.set()
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        housekeeping = _housekeeping(self._store)
        origin = None
        while not self._stopping.is_set():
            # Where the wall clock stood when the machine's own clock was 0: it moves if somebody
            # sets the clock, and then next fires may lie where nobody would wait for them.
            moved = ids.now() - ids.ticks()
            if origin is None or abs(moved - origin) > JUMP:
                _guarded(lambda: scheduler.replan(self._store, self._zone))
            origin = moved
            _guarded(self._tick)
            housekeeping.run_pending()
            # wait() counts by the machine's own clock, which nobody sets.
            self._stopping.wait(TICK)

    def _tick(self) -> None:
        for fire in scheduler.tick(self._store, self._zone):
            if fire.refusal is None:
                log.info("%s is due: its Run is queued", fire.dataset)
            else:
                log.warning("%s: a fire is skipped: %s", fire.dataset, fire.refusal.message)
            if self._stopping.is_set():
                return


def _housekeeping(store: Store) -> schedule.Scheduler:
    """The jobs that come once in an hour; each of them is due at once."""
    # schedule counts by the naive local time, of which an hour may come twice or not at all.
    os.environ["TZ"] = "UTC"
    time.tzset()
    jobs = schedule.Scheduler()
    job = jobs.every().hour.do(_guarded, lambda: retention.forget_old(store))
    job.run()
    return jobs


def _guarded(job: Callable[[], None]) -> None:
    """Do a job; what goes wrong with it is logged, and stops no other."""
    try:
        job()
    except StoreUnavailable as error:
        log.warning("%s", error.message)
    except Exception:
        log.exception("a job of the schedules failed")
