"""When datasets fire next, and which fires were skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from msgspec import Struct

from livedata.model import ids
from livedata.model.errors import Damaged, Invalid
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.rules.declaration import cron
from livedata.store import schedules
from livedata.store.database.store import Database
from livedata.store.schedules import LateFires, Scheduled, SkippedFire, Skipping

LATE = 5 * 60 * 1_000_000
"""After so many microseconds a fire is late that nobody has taken: a look comes every 5 s."""
TOLD = 3
"""How many fires are told of a dataset, to come and skipped."""


class Timetable(Struct, frozen=True):
    """The next fires of a dataset, and the last ones that were skipped, the newest first."""

    upcoming: Sequence[Micros]
    skipped: Sequence[SkippedFire]


def next_fires(db: Database, those: Collection[DatasetId], zone: str) -> Mapping[DatasetId, Micros]:
    """Dataset -> its next fire, of these; those without one, or with an unreadable one, are left
    out."""
    with db.reading() as reader:
        now = reader.now()
        active = [
            each for each in schedules.scheduled_each(reader, those) if each.status == "active"
        ]
    fires: dict[DatasetId, Micros] = {}
    for dataset in active:
        if dataset.schedule is not None:
            try:
                fires[dataset.id] = next_fire(dataset, now, zone)
            except Damaged:
                continue
    return fires


def timetable(db: Database, dataset: DatasetId, zone: str) -> Timetable:
    """The fires of one dataset; none to come if its schedule cannot be read. Raises NotFound."""
    with db.reading() as reader:
        now = reader.now()
        scheduled = schedules.scheduled(reader, dataset)
        skipped = schedules.skipped(reader, dataset, TOLD)
    upcoming: list[Micros] = []
    if scheduled.status == "active" and scheduled.schedule is not None:
        try:
            upcoming.append(next_fire(scheduled, now, zone))
            while len(upcoming) < TOLD:
                upcoming.append(following(scheduled, upcoming[-1], upcoming[-1], zone))
        except Damaged:
            upcoming = []
    return Timetable(upcoming, skipped)


def skipping(
    db: Database, owner: OwnerName, those: Collection[DatasetId] | None = None
) -> Mapping[DatasetId, Skipping]:
    """The datasets of an owner, or of these alone, whose schedules do nothing at the moment."""
    with db.reading() as reader:
        return {each.dataset: each for each in schedules.skipping(reader, owner, those)}


def late_fires(db: Database) -> LateFires | None:
    """The fires of all owners that are late, if some are."""
    with db.reading() as reader:
        return schedules.late(reader, Micros(reader.now() - LATE))


def next_fire(dataset: Scheduled, now: Micros, zone: str) -> Micros:
    """When a dataset with a schedule fires next; it is due if that is over.

    Raises Damaged for a schedule that cannot be read.
    """
    assert dataset.schedule is not None
    kept = None if dataset.next_run_at is None else ids.to_datetime(dataset.next_run_at)
    try:
        noted_in, present = dataset.next_run_zone, ids.to_datetime(now)
        return ids.microseconds(cron.due_at(dataset.schedule, kept, present, zone, noted_in))
    except Invalid as error:
        raise Damaged("datasets", dataset.id, "schedule") from error


def latest(schedule: str, now: Micros, zone: str) -> Micros | None:
    """The latest moment that may be noted for a schedule; None for one that cannot be read.

    A later one was reckoned by a clock that was ahead.
    """
    try:
        return ids.microseconds(cron.latest_noted(schedule, ids.to_datetime(now), zone))
    except Invalid:
        return None


def following(
    dataset: Scheduled, fire: Micros, now: Micros, zone: str, spread: float | None = None
) -> Micros:
    """The fire of a dataset after one that is taken now. Raises Damaged.

    It comes later than the schedule says: by a part of `spread` seconds that is always the same for
    a dataset, or without it by as much as the fire before it.
    """
    assert dataset.schedule is not None
    taken, moment = ids.to_datetime(fire), ids.to_datetime(now)
    try:
        if spread is None:
            later = cron.spread_of(dataset.schedule, taken, zone)
        else:
            widest = min(timedelta(seconds=spread), cron.widest_spread(dataset.schedule))
            # The end of an id is random: the begin of it says when the dataset was made.
            later = widest * int.from_bytes(dataset.id[-4:]) / 2**32
        return ids.microseconds(cron.following(dataset.schedule, taken, moment, zone, later))
    except Invalid as error:
        raise Damaged("datasets", dataset.id, "schedule") from error
