"""The schedules of a server: what is due is queued every few seconds, what is old goes hourly."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from functools import partial
from threading import Event, Thread

import schedule

from livedata.model import ids
from livedata.model.errors import Damaged, StoreUnavailable
from livedata.model.ids import Micros
from livedata.services import fires, retention, scheduler
from livedata.services.notices import digests, notifying
from livedata.services.scheduler import Fire
from livedata.store.database.store import Store

TICK = 5.0
"""The seconds between two looks at what is due."""
JUMP = 60_000_000
"""How far the clock moves by itself at most between two looks, in microseconds."""

log = logging.getLogger("livedata.schedules")


class Schedules:
    """A thread that takes what is due in a time zone, and does the housekeeping.

    Fires of one moment are spread over so many seconds.
    """

    def __init__(self, store: Store, zone: str, spread: float = 0) -> None:
        self._store = store
        self._zone = zone
        self._spread = spread
        self._origin: Micros | None = None
        self._next_look = 0.0
        self._stopping = Event()
        self._thread = Thread(target=self._work, name="schedules", daemon=True)

    def start(self) -> None:
        """Start; the first look is at once."""
        self._thread.start()

    def begin_stop(self) -> None:
        """Stop after the transaction in hand, and wait for nothing."""
        self._stopping.set()

    def finish_stop(self, deadline: float) -> None:
        """Wait until it has stopped; `deadline` is of the monotonic clock."""
        self._thread.join(max(0.0, deadline - time.monotonic()))

    def _work(self) -> None:
        housekeeping = _housekeeping(self._forget_old, self._report_late, self._store.shrink)
        housekeeping.every().minute.do(_guarded, self._tell_silence)
        while not self._stopping.is_set():
            self._look()
            housekeeping.run_pending()
            # wait() counts by the machine's own clock, which nobody sets.
            self._stopping.wait(TICK)

    def _look(self) -> None:
        """Take what is due."""
        _guarded(self._take_due)

    def _take_due(self) -> None:
        due = scheduler.due(self._store)
        _guarded(partial(self._replan, due.origin))
        if due.runs:
            self._take_fires()
        if due.digests:
            _guarded(self._tell_digests)
        self._next_look = time.monotonic() + TICK

    def _take_fires(self) -> None:
        """Queue the Runs that are due."""
        _guarded(self._tick)
        self._next_look = time.monotonic() + TICK

    def _replan(self, origin: Micros) -> None:
        """Put the next fires right at the start, and after somebody has set the clock."""
        if self._origin is None or abs(origin - self._origin) > JUMP:
            scheduler.replan(self._store, self._zone)
            digests.replan(self._store, self._zone)
        self._origin = origin

    def _tick(self) -> None:
        stopping = self._stopping.is_set
        for fire in scheduler.tick(self._store, self._zone, stopping, self._spread):
            _tell(fire)

    def _tell_digests(self) -> None:
        for digest in digests.tell_due(self._store, self._zone):
            fields = {"notice": digest.notice, "datasets": digest.datasets}
            extra = {"event": "digest.told", "fields": fields}
            log.info("notice %s: a digest of what has changed", digest.notice, extra=extra)
            if self._stopping.is_set():
                return
            # At seven in the morning hundreds may be due, and no Run waits for them.
            if time.monotonic() >= self._next_look:
                self._take_fires()

    def _forget_old(self) -> None:
        retention.forget_old(self._store, self._looked_and_stopping)

    def _looked_and_stopping(self) -> bool:
        """Whether this is to stop; before that, take what is due if it is time."""
        # A store that has not been cut back for months keeps this thread busy for minutes.
        if not self._stopping.is_set() and time.monotonic() >= self._next_look:
            self._look()
        return self._stopping.is_set()

    def _tell_silence(self) -> None:
        notifying.tell_silence(self._store, self._looked_and_stopping)

    def _report_late(self) -> None:
        late = fires.late_fires(self._store)
        if late is not None:
            log.warning(
                "%s late; the longest %s, which was due at %s",
                "1 schedule is" if late.count == 1 else f"{late.count} schedules are",
                late.name,
                ids.format_timestamp(late.due_at),
                extra={
                    "event": "schedules.late",
                    "fields": {"count": late.count, "dataset": late.name},
                },
            )


def _tell(fire: Fire) -> None:
    about: dict[str, object] = {"dataset": fire.dataset}
    if fire.queued is not None:
        about["run"] = ids.format_uuid(fire.queued.run)
    if fire.refusal is None and not fire.waited:
        extra = {"event": "fire.queued", "fields": about}
        log.info("%s is due: its Run is queued", fire.dataset, extra=extra)
        return
    extra = {"event": "fire.skipped", "fields": about}
    reason = fire.refusal.message if fire.refusal else "the Run before it is waiting"
    log.warning("%s: a fire is skipped: %s", fire.dataset, reason, extra=extra)


def _housekeeping(
    forget_old: Callable[[], None], *others: Callable[[], None]
) -> schedule.Scheduler:
    """The jobs that come once in an hour; the first of them is done at once too."""
    # schedule counts by the naive local time, of which an hour may come twice or not at all.
    os.environ["TZ"] = "UTC"
    time.tzset()
    jobs = schedule.Scheduler()
    job = jobs.every().hour.do(_guarded, forget_old)
    job.run()
    for other in others:
        jobs.every().hour.do(_guarded, other)
    return jobs


def _guarded(job: Callable[[], None]) -> None:
    """Do a job; what goes wrong with it is logged, and stops no other."""
    try:
        job()
    except StoreUnavailable as error:
        log.warning("%s", error.message, extra={"event": "store.unavailable"})
    except Damaged as error:
        log.warning("%s", error.message, extra={"event": "store.damaged"})
    except Exception:
        log.exception("a job of the schedules failed")
