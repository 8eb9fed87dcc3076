"""What happens in a store while somebody watches: what waits, what is late, what ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from msgspec import Struct

from livedata.model.ids import Micros, RunId
from livedata.services.scheduling.fires import LATE
from livedata.store import outbox, queue, runs, schedules
from livedata.store.audit import vitals
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.store import Database

SECOND = 1_000_000
MARGIN = 60 * SECOND
"""A Run may be written some seconds after the moment at which it says that it was queued."""
REMEMBERED = 2 * 3_600 * SECOND
"""How far back a clock may be set, and each Run is still told once; a time zone is an hour."""


class EndedRun(Struct, frozen=True):
    """How a Run ended, after how long, how often its process was lost, and outcome -> its pages."""

    end: str
    seconds: float
    lost: int
    pages: Mapping[str, int]


class Pulse(Struct, frozen=True):
    """How many Runs are queued, for how long the first of them, how many schedules are late.

    `outbox` is how many messages of notices wait.
    """

    queued: int
    oldest_seconds: float
    late: int
    outbox: int


class Watch:
    """Tells each Run once that ends from now on, whichever process has executed it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        with db.reading() as reader:
            self._since = _horizon(reader)
            # All that have ended of those that were queued from that moment on.
            self._told_from = Micros(self._since - REMEMBERED)
            self._told = {run.id: run.queued_at for run in vitals.ended(reader, self._told_from)}

    def look(self) -> tuple[Pulse, list[EndedRun]]:
        """How the store is now, and what has ended since the last look. Raises StoreUnavailable."""
        with self._db.reading() as reader:
            horizon = _horizon(reader)
            # After a clock was set back the horizon is earlier, and what was told is met again.
            ended = vitals.ended(reader, min(self._since, horizon))
            new = [
                _told(reader, run)
                for run in ended
                if run.id not in self._told and run.queued_at >= self._told_from
            ]
            pulse = _pulse(reader)
        # No Run from before can end any more: those that are open now are the oldest.
        self._since = horizon
        self._told_from = Micros(max(min(self._told_from, horizon), horizon - REMEMBERED))
        known = {**self._told, **{run.id: run.queued_at for run in ended}}
        self._told = {run: moment for run, moment in known.items() if moment >= self._told_from}
        return pulse, new


def _horizon(reader: Reader) -> Micros:
    oldest = vitals.oldest_open(reader)
    now = Micros(reader.now() - MARGIN)
    return now if oldest is None else min(now, oldest)


def _pulse(reader: Reader) -> Pulse:
    now = reader.now()
    queued, oldest = queue.waiting_since(reader)
    late = schedules.late(reader, Micros(now - LATE))
    waits = 0 if oldest is None else max(0, now - oldest) / SECOND
    return Pulse(queued, waits, 0 if late is None else late.count, outbox.depth(reader))


def _told(reader: Reader, run: vitals.Ended) -> EndedRun:
    began = run.queued_at if run.started_at is None else run.started_at
    seconds = max(0, run.completed_at - began) / SECOND
    return EndedRun(run.status, seconds, max(0, run.attempt - 1), _pages(reader, run.id))


def _pages(reader: Reader, run: RunId) -> Mapping[str, int]:
    try:
        _, facts = runs.facts(reader, run)
    except SYMPTOMS:
        return {}  # `livedata check` names it
    pages: Counter[str] = Counter(read=len(facts.get("pages", [])))
    failure = facts.get("failure")
    if failure is not None:
        pages[failure["reason"]] += 1
    return pages
