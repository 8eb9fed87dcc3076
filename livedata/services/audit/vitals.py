"""How a store is doing, at one moment and as a whole: for the one who operates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros
from livedata.services import leases
from livedata.store import outbox, queue, schedules
from livedata.store.audit import vitals
from livedata.store.audit.vitals import Growth, Unaccepted
from livedata.store.database.backend import Reader
from livedata.store.database.codec import STOP
from livedata.store.database.store import Database
from livedata.store.outbox import Backlog
from livedata.store.queue import LEASE
from livedata.store.schedules import LateFires, Skipping

DAY = 86_400_000_000


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
    """What one looks at to see that all is well; `oldest` is since when the longest Run waits."""

    now: Micros
    size: int
    growth: Sequence[DatasetGrowth]
    workers: Sequence[WorkerProcess]
    queued: int
    oldest: Micros | None
    late: LateFires | None
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
            _growth(reader, now),
            _workers(reader),
            queued,
            oldest,
            schedules.late(reader, Micros(now - late)),
            schedules.skipping(reader),
            [each for each in vitals.unaccepted(reader) if _needs_a_person(each)],
            outbox.backlog(reader),
        )


def _needs_a_person(dataset: Unaccepted) -> bool:
    """Whether a dataset is held, or has only ever failed; one that was cancelled says nothing."""
    stop = {} if dataset.stop is None else STOP.load(dataset.stop)
    if stop.get("rule") == "cancelled":
        return False
    return dataset.status == "held" or not dataset.accepted


def _growth(reader: Reader, now: Micros) -> list[DatasetGrowth]:
    """What each dataset gained, those first that gained most."""
    week = vitals.growth(reader, Micros(now - 7 * DAY))
    month = vitals.growth(reader, Micros(now - 30 * DAY))
    gained = [
        DatasetGrowth(owner, name, _of(week, dataset), _of(month, dataset))
        for dataset, owner, name in vitals.datasets(reader)
    ]
    return sorted(gained, key=lambda dataset: -dataset.month.changes)


def _of(growth: Mapping[DatasetId, Growth], dataset: DatasetId) -> Growth:
    return growth.get(dataset, Growth(0, 0))


def _workers(reader: Reader) -> list[WorkerProcess]:
    lost = leases.lost(reader)
    return [
        # A lease is renewed for a fixed time, so its end tells when that was.
        WorkerProcess(
            work.holder, work.runs, work.since, Micros(work.until - LEASE), work.holder not in lost
        )
        for work in vitals.work(reader)
    ]
