"""Schedules fire once, whatever the clock does, and one that is damaged stops no other."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.ids import DatasetId, Micros
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, runs
from livedata.services.scheduling.fires import next_fires
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.made import make_dataset

HOUR = 3_600_000_000
DAY = 24 * HOUR
NOON = ids.microseconds(datetime(2031, 5, 14, 12, 0, tzinfo=UTC))
DAILY, HOURLY = "30 11 * * *", "30 * * * *"


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Set the clock."""

    def set_to(moment: int) -> None:
        monkeypatch.setattr(ids, "now", lambda: Micros(moment))

    return set_to


def scheduled(store: Store, schedule: str, name: str = "shop") -> DatasetId:
    dataset = make_dataset(store, name=name)
    wanted = read(UpdateDataset, {"status": "active", "schedule": schedule})
    datasets.update(store, "local", dataset, wanted)
    return dataset


def fired(store: Store) -> int:
    """How many Runs a look at the schedules starts; each of them ends at once."""
    due, _, _ = runs.claim_due(store, "local")
    for queued in due:
        runs.cancel(store, queued.run)
    return len(due)


STEPS = [
    # schedule, then (how far the clock is from noon, how many fires a look takes)
    (DAILY, [(0, 1), (30 * DAY, 1), (30 * DAY, 0), (0, 0), (DAY, 1), (DAY, 0)]),
    (DAILY, [(0, 1), (-2 * HOUR, 0), (-HOUR // 4, 0), (HOUR, 0), (DAY, 1), (2 * DAY, 1)]),
    (DAILY, [(0, 1), (HOUR, 0), (0, 0), (DAY, 1), (DAY + HOUR, 0)]),
    (HOURLY, [(0, 1), (30 * DAY, 1), (0, 0), (HOUR // 2, 1), (HOUR, 0), (3 * HOUR // 2, 1)]),
    (HOURLY, [(0, 1), (-2 * HOUR, 0), (-HOUR, 0), (0, 0), (HOUR, 1)]),
    (HOURLY, [(0, 1), (HOUR, 1), (HOUR, 0), (0, 0), (HOUR, 0), (2 * HOUR, 1)]),
]


@pytest.mark.parametrize(("schedule", "looks"), STEPS)
def test_a_schedule_fires_once_whatever_the_clock_does(
    store: Store, at: Callable[[int], None], schedule: str, looks: list[tuple[int, int]]
) -> None:
    at(NOON - DAY)
    scheduled(store, schedule)
    for offset, fires in looks:
        at(NOON + offset)
        assert fired(store) == fires, offset


def test_a_next_fire_that_lies_too_far_away_is_told_and_noted_from_now(
    store: Store, at: Callable[[int], None]
) -> None:
    at(NOON + 30 * DAY)
    dataset = scheduled(store, DAILY)
    at(NOON)
    tomorrow = NOON + DAY - HOUR // 2
    assert next_fires(store, "local", "UTC") == {dataset: tomorrow}
    assert fired(store) == 0
    with store.reading() as reader:
        assert reader.value("SELECT next_run_at FROM datasets") == tomorrow


def test_only_active_datasets_with_a_schedule_have_a_next_fire(
    store: Store, at: Callable[[int], None]
) -> None:
    at(NOON)
    make_dataset(store, name="plain")
    paused = scheduled(store, DAILY, "paused")
    datasets.update(store, "local", paused, read(UpdateDataset, {"status": "paused"}))
    active = scheduled(store, HOURLY, "active")
    assert next_fires(store, "local", "UTC") == {active: NOON + HOUR // 2}


def test_an_active_schedule_that_lost_its_next_fire_gets_it_back(
    store: Store, at: Callable[[int], None]
) -> None:
    at(NOON)
    dataset = scheduled(store, HOURLY)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = NULL")
    assert fired(store) == 0
    assert next_fires(store, "local", "UTC") == {dataset: NOON + HOUR // 2}
    at(NOON + HOUR)
    assert fired(store) == 1


def test_the_next_fire_of_a_schedule_that_cannot_be_read_is_unknown(
    store: Store, at: Callable[[int], None], tmp_path: Path
) -> None:
    at(NOON)
    scheduled(store, DAILY)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z'")
    assert next_fires(store, "local", "UTC") == {}
    assert "unknown: the schedule cannot be read" in Shell(tmp_path).out("dataset", "show", "shop")


def test_a_schedule_that_cannot_be_read_is_told_and_stops_no_other(
    store: Store, at: Callable[[int], None]
) -> None:
    at(NOON - DAY)
    broken = scheduled(store, DAILY, "broken")
    scheduled(store, DAILY, "sound")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
    at(NOON)
    due, left, failed = runs.claim_due(store, "local")
    assert ([queued.name for queued in due], left) == (["sound"], [])
    ((name, error),) = failed
    assert name == "broken"
    assert error.message == (
        f"The store is damaged: in the table datasets, row {ids.format_uuid(broken)}, the column "
        "schedule cannot be read."
    )
