"""How a store is doing, for the one who operates it: at one moment, and while somebody watches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from livedata.model.ids import Micros, RunId
from livedata.services import leases
from livedata.services.fires import LATE
from livedata.store import digests, outbox, queue, runs, schedules
from livedata.store.audit import vitals
from livedata.store.audit.vitals import Growth, Unaccepted
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.codec import STOP
from livedata.store.database.store import Database
from livedata.store.outbox import Backlog
from livedata.store.queue import LEASE
from livedata.store.schedules import LateFires, Skipping

DAY = 86_400_000_000
SECOND = 1_000_000
MARGIN = 60 * SECOND
"""A Run may be written some seconds after the moment at which it says that it was queued."""
LOOKED_AT = 10_000
"""So many accepted Runs say what datasets gained: more take longer than a person waits."""
MOST_GROWN = 1_000
"""Of so many datasets it is said what they gained."""
REMEMBERED = 2 * 3_600 * SECOND
"""How far back a clock may be set, and each Run is still told once; a time zone is an hour."""

FEW = 1_000
"""So many Runs are remembered longer than need be."""


class WorkerProcess(Struct, frozen=True):
    """A process with Runs; `live` tells whether it is known, or may be thought, to be alive."""

    holder: str
    runs: int
    since: Micros
    heartbeat: Micros
    live: bool


class DatasetGrowth(Struct, frozen=True):
    """What a dataset gained in the last 7 and 30 days."""

    owner: str
    name: str
    week: Growth
    month: Growth


class Vitals(Struct, frozen=True):
    """What one looks at to see that all is well; `oldest` is since when the longest Run waits.

    `growth` is of so many of the `datasets` as gained most since `grown_since`: that is 30 days
    ago, or where the last Runs begin that were looked at.
    """

    now: Micros
    size: int
    growth: Sequence[DatasetGrowth]
    grown_since: Micros
    datasets: int
    workers: Sequence[WorkerProcess]
    queued: int
    oldest: Micros | None
    late: LateFires | None
    late_digests: LateFires | None
    skipping: Sequence[Skipping]
    unaccepted: Sequence[Unaccepted]
    outbox: Backlog


def examine(db: Database, late: int) -> Vitals:
    """Look at a store; a fire is late if nobody took it for so many microseconds."""
    with db.reading() as reader:
        now = reader.now()
        queued, oldest = queue.waiting_since(reader)
        return Vitals(
            now,
            reader.size(),
            *_growth(reader, now),
            vitals.count_datasets(reader),
            _workers(reader),
            queued,
            oldest,
            schedules.late(reader, Micros(now - late)),
            digests.late(reader, Micros(now - late)),
            schedules.skipping(reader),
            [each for each in vitals.unaccepted(reader) if _needs_a_person(each)],
            outbox.backlog(reader),
        )


def _needs_a_person(dataset: Unaccepted) -> bool:
    """Whether a dataset is held, has only ever failed, or has failed more than once in a row.

    A Run that was cancelled says nothing of the site.
    """
    stop = {} if dataset.stop is None else STOP.load(dataset.stop)
    if stop.get("rule") == "cancelled":
        return False
    # A site may be down for an hour: one failure after accepted Runs mends itself.
    return dataset.status == "held" or not dataset.accepted or dataset.in_a_row > 1


def _growth(reader: Reader, now: Micros) -> tuple[Sequence[DatasetGrowth], Micros]:
    """What each dataset gained, those first that gained most, and since when that was counted."""
    month = vitals.looked_back(reader, Micros(now - 30 * DAY), LOOKED_AT)
    week = max(month, Micros(now - 7 * DAY))
    grown = vitals.growth(reader, week, month, MOST_GROWN)
    known, none = {key for key, *_ in grown}, Growth(0, 0)
    others = [
        DatasetGrowth(owner, name, none, none)
        for key, owner, name in vitals.datasets(reader, MOST_GROWN)
        if key not in known
    ]
    gained = [DatasetGrowth(*each[1:]) for each in grown] + others
    in_order = sorted(gained, key=lambda each: (-each.month.changes, each.owner, each.name))
    return in_order[:MOST_GROWN], month


def _workers(reader: Reader) -> list[WorkerProcess]:
    lost = leases.lost(reader)
    return [
        # A lease is renewed for a fixed time, so its end tells when that was.
        WorkerProcess(
            work.holder, work.runs, work.since, Micros(work.until - LEASE), work.holder not in lost
        )
        for work in vitals.work(reader)
    ]


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
        self._most = 2 * len(self._told) + FEW

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
        self._told |= {run.id: run.queued_at for run in ended}
        # They are many, and those from before do no harm: not for each look.
        if len(self._told) > self._most:
            known = self._told.items()
            self._told = {run: moment for run, moment in known if moment >= self._told_from}
            self._most = 2 * len(self._told) + FEW
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
