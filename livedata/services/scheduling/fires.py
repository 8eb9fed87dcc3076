"""When datasets fire next, and who takes a fire."""

from __future__ import annotations

from collections.abc import Mapping

from livedata.model import ids
from livedata.model.errors import Damaged, Invalid
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.rules.declaration import cron
from livedata.store import datasets
from livedata.store.database.store import Database, Store
from livedata.store.datasets import Scheduled


def claim(store: Store, dataset: Scheduled, zone: str) -> bool:
    """Take the fire of an active dataset if it is due, and move its schedule on.

    False if it is not due, or another process was faster. A schedule that was kept while the clock
    was ahead is brought back. Raises Damaged for a schedule that cannot be read.
    """
    # Most datasets are not due: to ask costs no lock.
    if dataset.next_run_at == _fires(dataset, zone) > ids.now():
        return False
    with store.writing() as writer:
        # Read again under the lock: what was read before may have been claimed since.
        datasets.lock_dataset(writer, dataset.id)
        locked = datasets.scheduled(writer, dataset.id)
        if locked.status != "active" or locked.schedule is None:
            return False
        fires, now = _fires(locked, zone), ids.now()
        due = fires <= now
        if due:
            fires = ids.microseconds(cron.next_fire(locked.schedule, ids.to_datetime(now), zone))
        if fires != locked.next_run_at:
            datasets.change(writer, dataset.id, next_run_at=fires)
        return due


def next_fires(db: Database, owner: OwnerName, zone: str) -> Mapping[DatasetId, Micros]:
    """Dataset -> its next fire; datasets without one, or with an unreadable one, are left out."""
    with db.reading() as reader:
        active = [each for each in datasets.unpaused(reader, owner) if each.status == "active"]
    fires: dict[DatasetId, Micros] = {}
    for dataset in active:
        if dataset.schedule is not None:
            try:
                fires[dataset.id] = _fires(dataset, zone)
            except Damaged:
                continue
    return fires


def _fires(dataset: Scheduled, zone: str) -> Micros:
    assert dataset.schedule is not None
    kept = None if dataset.next_run_at is None else ids.to_datetime(dataset.next_run_at)
    try:
        now = ids.to_datetime(ids.now())
        return ids.microseconds(cron.due_at(dataset.schedule, kept, now, zone))
    except Invalid as error:
        raise Damaged("datasets", dataset.id, "schedule") from error
