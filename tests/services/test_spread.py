"""Fires of one moment come one after another, each dataset always at the same time."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model.ids import DatasetId, Micros
from livedata.services import fires, runs, scheduler
from livedata.services.fires import latest, timetable
from livedata.store import schedules
from livedata.store.database.store import Store
from tests.services.test_schedules import HOUR, HOURLY, NOON, every_fire, scheduled, set_time

__all__ = ["set_time"]
DATASETS = 40
FIRST = NOON + HOUR // 2
SECOND = 1_000_000
WIDEST = 360
"""A tenth of an hour, in seconds."""


def fire_all(store: Store, spread: float) -> None:
    """Take what is due; each Run ends at once."""
    for fire in scheduler.tick(store, "UTC", spread=spread):
        assert fire.queued is not None
        runs.cancel(store, fire.queued.run)


@pytest.fixture
def planned(store: Store, set_time: Callable[[int], None]) -> list[DatasetId]:
    """Datasets of one hourly schedule, just before they fire for the first time."""
    set_time(NOON)
    return [scheduled(store, HOURLY, f"shop {number}") for number in range(DATASETS)]


@pytest.mark.usefixtures("planned")
def test_fires_are_spread_over_the_seconds_that_are_allowed(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(FIRST)
    fire_all(store, 100)
    later = [fire - FIRST - HOUR for fire in every_fire(store).values()]
    assert len(set(later)) == DATASETS
    assert 0 <= min(later) < 25 * SECOND
    assert 75 * SECOND < max(later) <= 100 * SECOND


@pytest.mark.usefixtures("planned")
def test_fires_are_spread_over_a_tenth_of_the_interval_at_most(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(FIRST)
    fire_all(store, 86_400)
    later = [fire - FIRST - HOUR for fire in every_fire(store).values()]
    assert WIDEST / 2 * SECOND < max(later) <= WIDEST * SECOND


@pytest.mark.usefixtures("planned")
def test_a_dataset_fires_as_much_later_each_time(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(FIRST)
    fire_all(store, 300)
    second = every_fire(store)
    set_time(FIRST + HOUR + 300 * SECOND)
    fire_all(store, 300)
    assert every_fire(store) == {dataset: fire + HOUR for dataset, fire in second.items()}
    (dataset, fire), *_ = second.items()
    upcoming = [fire + HOUR, fire + 2 * HOUR, fire + 3 * HOUR]
    assert timetable(store, dataset, "UTC").upcoming == upcoming


@pytest.mark.usefixtures("planned")
def test_a_moment_fires_once_where_the_setting_changes(
    store: Store, set_time: Callable[[int], None]
) -> None:
    # Those are taken late enough for the others' later time to be over, or still to come.
    for number, spread in enumerate((0, 300, 0, 60, 300)):
        for seconds in (0, 90, WIDEST):
            set_time(FIRST + number * HOUR + seconds * SECOND)
            fire_all(store, spread)
        assert store_runs(store) == (number + 1) * DATASETS


def store_runs(store: Store) -> int:
    with store.reading() as reader:
        count: int = reader.value("SELECT count(*) FROM runs")
    return count


@pytest.mark.usefixtures("planned")
def test_a_fire_that_is_spread_lies_not_wrong(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(FIRST)
    fire_all(store, 300)
    noted = every_fire(store)
    # Less than three hours before, as after a step of the clock that is a correction.
    for moment in (FIRST, FIRST - 5 * HOUR // 2):
        set_time(moment)
        scheduler.replan(store, "UTC")
        assert every_fire(store) == noted
    with store.reading() as reader:
        bound = latest(HOURLY, Micros(FIRST - 5 * HOUR // 2), "UTC")
        assert list(schedules.misplanned(reader, HOURLY, "UTC", bound)) == []
    assert fires.late_fires(store) is None
