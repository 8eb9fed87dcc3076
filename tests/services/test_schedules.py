"""Schedules fire once, whatever the clock does, and one that is damaged stops no other."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros
from livedata.model.requests import UpdateDataset
from livedata.services import attempts, datasets, runs, scheduler
from livedata.services.fires import latest, next_fires, timetable
from livedata.store import queue, schedules
from livedata.store.database.store import Store
from livedata.store.datasets import lock_dataset
from livedata.store.queue import RunOptions
from tests.cli.shell import Shell
from tests.made import make_dataset, meet_owner, take
from tests.notices.conftest import add_notice, told
from tests.patience import AT_ONCE
from tests.services.conftest import SetClock

HOUR = 3_600_000_000
DAY = 24 * HOUR
NOON = ids.microseconds(datetime(2031, 5, 14, 12, 0, tzinfo=UTC))
DAILY, HOURLY = "30 11 * * *", "30 * * * *"


@pytest.fixture
def set_time(set_clock: SetClock) -> Callable[[int], None]:
    """Set the clock."""
    return lambda moment: set_clock(lambda: Micros(moment))


def scheduled(store: Store, schedule: str, name: str = "shop") -> DatasetId:
    dataset = make_dataset(store, name=name)
    wanted = read(UpdateDataset, {"status": "active", "schedule": schedule})
    datasets.update(store, "local", dataset, wanted)
    return dataset


def every_fire(store: Store) -> Mapping[DatasetId, Micros]:
    """The next fires of all datasets."""
    with store.reading() as reader:
        those = [dataset for (dataset,) in reader.rows("SELECT id FROM datasets")]
    return next_fires(store, those, "UTC")


def fired(store: Store) -> int:
    """How many Runs a look at the schedules starts; each of them ends at once."""
    due, _, _ = scheduler.claim_due(store, "local")
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
    store: Store, set_time: Callable[[int], None], schedule: str, looks: list[tuple[int, int]]
) -> None:
    set_time(NOON - DAY)
    scheduled(store, schedule)
    for offset, fires in looks:
        set_time(NOON + offset)
        assert fired(store) == fires, offset


def test_a_next_fire_that_lies_too_far_away_is_told_and_noted_from_now(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON + 30 * DAY)
    dataset = scheduled(store, DAILY)
    set_time(NOON)
    tomorrow = NOON + DAY - HOUR // 2
    assert every_fire(store) == {dataset: tomorrow}
    assert fired(store) == 0
    with store.reading() as reader:
        assert reader.value("SELECT next_run_at FROM datasets") == tomorrow


def test_only_active_datasets_with_a_schedule_have_a_next_fire(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON)
    make_dataset(store, name="plain")
    paused = scheduled(store, DAILY, "paused")
    datasets.update(store, "local", paused, read(UpdateDataset, {"status": "paused"}))
    active = scheduled(store, HOURLY, "active")
    assert every_fire(store) == {active: NOON + HOUR // 2}


def test_an_active_schedule_that_lost_its_next_fire_gets_it_back(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON)
    dataset = scheduled(store, HOURLY)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = NULL")
    assert fired(store) == 0
    assert every_fire(store) == {dataset: NOON + HOUR // 2}
    set_time(NOON + HOUR)
    assert fired(store) == 1


def test_the_next_fire_of_a_schedule_that_cannot_be_read_is_unknown(
    store: Store, set_time: Callable[[int], None], tmp_path: Path
) -> None:
    set_time(NOON)
    scheduled(store, DAILY)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z'")
    assert every_fire(store) == {}
    assert "unknown: the schedule cannot be read" in Shell(tmp_path).out("dataset", "show", "shop")


@pytest.mark.parametrize("fresh", [True, False])
def test_what_is_due_is_queued_fresh_if_that_is_asked_for(
    store: Store, set_time: Callable[[int], None], fresh: bool
) -> None:
    set_time(NOON - DAY)
    scheduled(store, DAILY)
    make_dataset(store, name="unscheduled")
    set_time(NOON)
    due, _, _ = scheduler.claim_due(store, "local", options=RunOptions(fresh))
    with store.reading() as reader:
        assert [queue.is_fresh(reader, queued.run) for queued in due] == [fresh, fresh]


@pytest.mark.parametrize(("most", "named", "are_more"), [(2, 2, True), (3, 3, False)])
def test_of_many_drafts_with_a_schedule_some_are_named_and_it_is_said_that_there_are_more(
    store: Store, monkeypatch: pytest.MonkeyPatch, most: int, named: int, are_more: bool
) -> None:
    monkeypatch.setattr(scheduler, "MOST_NAMED", most)
    for name in ("one", "two", "three"):
        dataset = make_dataset(store, name=name)
        datasets.update(store, "local", dataset, read(UpdateDataset, {"schedule": DAILY}))
    due, left, failed = scheduler.claim_due(store, "local")
    assert (due, failed, left.are_more, len(left.names)) == ([], [], are_more, named)


def test_a_schedule_that_cannot_be_read_is_told_and_stops_no_other(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    broken = scheduled(store, DAILY, "broken")
    scheduled(store, DAILY, "sound")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
    set_time(NOON)
    due, left, failed = scheduler.claim_due(store, "local")
    assert ([queued.name for queued in due], [*left.names]) == (["sound"], [])
    ((name, error),) = failed
    assert name == "broken"
    assert error.message == (
        f"The store is damaged: in the table datasets, row {ids.format_uuid(broken)}, the column "
        "schedule cannot be read."
    )


def ticked(store: Store, zone: str = "UTC") -> list[tuple[str, bool]]:
    """(dataset, whether a Run stands for it) of every fire that a tick takes."""
    return [(fire.dataset, fire.queued is not None) for fire in scheduler.tick(store, zone)]


def skipped(store: Store, dataset: DatasetId) -> list[tuple[int, str]]:
    """The (moment, reason) of the fires that were skipped."""
    table = timetable(store, dataset, "UTC")
    return [(fire.fired_at, fire.reason) for fire in table.skipped]


def test_a_tick_takes_what_is_due_of_all_owners_in_batches(
    store: Store, set_time: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "BATCH", 2)
    set_time(NOON - HOUR)
    names = [f"shop {number}" for number in range(5)]
    for name in names:
        scheduled(store, DAILY, name)
    scheduled(store, "0 13 * * *", "later")
    meet_owner(store, "ada", 100)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET owner = 'ada' WHERE name = 'shop 3'")
    assert ticked(store) == []
    set_time(NOON)
    assert sorted(ticked(store)) == [(name, True) for name in names]
    assert ticked(store) == []


def test_a_fire_that_finds_a_run_or_no_credits_is_skipped_with_its_reason(
    store: Store, set_time: Callable[[int], None], tmp_path: Path
) -> None:
    set_time(NOON - DAY)
    dataset = scheduled(store, HOURLY)
    first, second, third = (NOON + HOUR // 2 + number * HOUR for number in range(3))
    set_time(first - HOUR)
    assert ticked(store) == [("shop", True)]
    set_time(first)
    assert ticked(store) == [("shop", True)]
    assert skipped(store, dataset) == [(first, "run_waiting")]
    with store.reading() as reader:
        run = reader.value("SELECT id FROM runs")
    assert attempts.begin(store, run) is not None
    set_time(second)
    assert ticked(store) == [("shop", False)]
    with store.writing() as writer:
        writer.execute("UPDATE runs SET status = 'failed'")
        writer.execute("UPDATE owners SET balance = 0")
    set_time(third)
    assert ticked(store) == [("shop", False)]
    assert skipped(store, dataset) == [
        (third, "no_credits"),
        (second, "run_in_progress"),
        (first, "run_waiting"),
    ]
    shown = Shell(tmp_path).out("dataset", "show", "shop")
    assert "2031-05-14T14:30:00Z (no credits)" in shown
    assert "2031-05-14T13:30:00Z (a Run was in progress)" in shown
    datasets.remove(store, "local", make_dataset(store, name="other"))
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs") == 1


def test_the_next_three_fires_are_told(
    store: Store, set_time: Callable[[int], None], tmp_path: Path
) -> None:
    set_time(NOON)
    dataset = scheduled(store, HOURLY)
    fires = [NOON + HOUR // 2 + number * HOUR for number in range(3)]
    assert timetable(store, dataset, "UTC").upcoming == fires
    scheduled(store, "30 6 1 1 *", "yearly")
    shown = Shell(tmp_path).out("dataset", "show", "yearly")
    assert re.search(r"^next run +\d{4}-01-01T06:30:00Z$", shown, re.MULTILINE)
    assert re.search(r"^after that +(\d{4}-01-01T06:30:00Z(, |$)){2}", shown, re.MULTILINE)


def test_a_deleted_dataset_takes_its_skipped_fires_along(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    dataset = scheduled(store, DAILY)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0")
    set_time(NOON)
    assert ticked(store) == [("shop", False)]
    datasets.remove(store, "local", dataset)
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM skipped_fires") == 0


def test_a_changed_time_zone_moves_the_next_fires_at_the_next_start(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON)
    dataset = scheduled(store, DAILY)  # 11:30, so tomorrow
    paused = scheduled(store, DAILY, "paused")
    datasets.update(store, "local", paused, read(UpdateDataset, {"status": "paused"}))
    scheduler.replan(store, "America/New_York")
    with store.reading() as reader:
        kept = {row[0]: row[1] for row in reader.rows("SELECT id, next_run_at FROM datasets")}
    assert kept == {dataset: NOON + 7 * HOUR // 2, paused: None}
    assert ticked(store, "America/New_York") == []
    scheduler.replan(store, "UTC")
    assert every_fire(store) == {dataset: NOON + DAY - HOUR // 2}


def test_a_start_asks_for_what_was_planned_wrong_and_reads_no_other_dataset(
    store: Store, set_time: Callable[[int], None]
) -> None:
    def plan(name: str, moment: int | None, zone: str | None = "UTC") -> None:
        with store.writing() as writer:
            writer.execute(
                "UPDATE datasets SET next_run_at = :moment, next_run_zone = :zone "
                "WHERE name = :name",
                moment=moment,
                zone=zone,
                name=name,
            )

    set_time(NOON)
    for name in ("right", "lost", "far", "elsewhere", "nowhere", "due", "broken"):
        scheduled(store, "40 12 * * *" if name == "right" else HOURLY, name)
    right = NOON + HOUR // 2
    plan("lost", None)
    plan("far", right + 30 * DAY)
    plan("elsewhere", right, "Asia/Kathmandu")
    plan("nowhere", right, None)
    plan("due", NOON - 1)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
    with store.reading() as reader:
        kinds = schedules.kinds(reader, "UTC")
        assert [schedule for schedule, _, _ in kinds] == [HOURLY, "40 12 * * *", "x y z"]
        assert [unknown for _, unknown, _ in kinds][:2] == [True, False]
        wrong = schedules.misplanned(reader, HOURLY, "UTC", latest(HOURLY, Micros(NOON), "UTC"))
        assert {each.name for each in wrong} == {"lost", "far", "elsewhere", "nowhere"}
        assert latest("x y z", Micros(NOON), "UTC") is None
        assert [each.name for each in schedules.misplanned(reader, "x y z", "UTC", None)] == [
            "broken"
        ]
    scheduler.replan(store, "UTC")
    with store.reading() as reader:
        rows = reader.rows("SELECT name, next_run_at FROM datasets WHERE name <> 'broken'")
    planned = {str(name): moment for name, moment in rows}
    assert planned.pop("right") == NOON + 2 * HOUR // 3
    assert planned.pop("due") == NOON - 1
    assert set(planned.values()) == {right}


# 11:30 in New York is 15:30 in UTC in May: what was due at 11:30 has not come yet.
@pytest.mark.parametrize(
    ("off", "fires"), [(0, []), (3 * HOUR, []), (4 * HOUR, ["shop"]), (3 * DAY, ["shop"])]
)
def test_a_fire_that_was_missed_in_another_time_zone_is_caught_up_once(
    store: Store, set_time: Callable[[int], None], off: int, fires: list[str]
) -> None:
    set_time(NOON - DAY)
    scheduled(store, DAILY)
    set_time(NOON + off)
    scheduler.replan(store, "America/New_York")
    assert [name for name, _ in ticked(store, "America/New_York")] == fires
    assert ticked(store, "America/New_York") == []


def test_a_schedule_that_cannot_be_read_is_passed_over_once_and_stops_no_other(
    store: Store, set_time: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "BATCH", 1)
    set_time(NOON - DAY)
    broken = scheduled(store, DAILY, "broken")
    recipe = scheduled(store, DAILY, "recipe")
    scheduled(store, DAILY, "sound")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
        writer.execute(
            "UPDATE recipes SET source = 'x' WHERE dataset_id = :dataset", dataset=recipe
        )
    set_time(NOON)
    assert ticked(store) == [("broken", False), ("recipe", False), ("sound", True)]
    assert ticked(store) == []
    assert [reason for _, reason in skipped(store, broken)] == ["damaged"]
    set_time(NOON + DAY)
    assert ("recipe", False) in ticked(store)


def test_what_cannot_be_read_of_a_batch_hurts_no_other_of_it(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    broken = scheduled(store, DAILY, "broken")
    recipe = scheduled(store, DAILY, "recipe")
    scheduled(store, DAILY, "first")
    scheduled(store, DAILY, "second")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET schedule = 'x y z' WHERE name = 'broken'")
        writer.execute(
            "UPDATE recipes SET source = 'x' WHERE dataset_id = :dataset", dataset=recipe
        )
    set_time(NOON)
    taken = [("broken", False), ("first", True), ("recipe", False), ("second", True)]
    assert sorted(ticked(store)) == taken
    assert ticked(store) == []
    for dataset in (broken, recipe):
        assert [reason for _, reason in skipped(store, dataset)] == ["damaged"]


def test_a_batch_has_the_fires_of_several_owners_and_skips_only_those_without_credits(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    datasets_of = {name: scheduled(store, DAILY, name) for name in ("a", "b", "c", "d")}
    for owner, balance, names in (("ada", 0, ("b", "d")), ("bob", 5, ("c",))):
        meet_owner(store, owner, balance)
        with store.writing() as writer:
            for name in names:
                writer.execute(
                    "UPDATE datasets SET owner = :owner WHERE name = :name", owner=owner, name=name
                )
    set_time(NOON)
    assert sorted(ticked(store)) == [("a", True), ("b", False), ("c", True), ("d", False)]
    reasons = {name: skipped(store, dataset) for name, dataset in datasets_of.items()}
    fire = NOON - HOUR // 2
    assert reasons == {"a": [], "b": [(fire, "no_credits")], "c": [], "d": [(fire, "no_credits")]}


def test_who_comes_too_late_for_a_fire_writes_nothing(
    store: Store, set_time: Callable[[int], None]
) -> None:
    def written() -> object:
        """What changes if a dataset is written, also with what it had."""
        if store.url.startswith("sqlite"):
            return store.writes()
        with store.reading() as reader:
            return reader.value("SELECT CAST(xmin AS text) FROM datasets")

    set_time(NOON - DAY)
    dataset = scheduled(store, DAILY)
    set_time(NOON)
    assert ticked(store) == [("shop", True)]
    before = written()
    assert scheduler.take_fire(store, dataset, "UTC") is None
    assert ticked(store) == []
    assert written() == before


def test_a_dataset_that_is_deleted_or_paused_meanwhile_fires_no_more(
    store: Store, set_time: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "BATCH", 1)
    set_time(NOON - DAY)
    first, second, third = (scheduled(store, DAILY, name) for name in ("a", "b", "c"))
    set_time(NOON)
    fires = scheduler.tick(store, "UTC")
    assert next(fires).dataset == "a"
    datasets.remove(store, "local", second)
    datasets.update(store, "local", third, read(UpdateDataset, {"status": "paused"}))
    assert list(fires) == []
    with store.reading() as reader:
        assert reader.rows("SELECT dataset_id FROM runs") == [(first,)]


def test_of_two_that_saw_the_same_fire_one_takes_it(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    dataset = scheduled(store, DAILY)
    set_time(NOON)
    first, second = (scheduler.take_fire(store, dataset, "UTC") for _ in range(2))
    assert first is not None
    assert first.queued is not None
    assert second is None
    set_time(NOON + DAY)
    datasets.update(store, "local", dataset, read(UpdateDataset, {"status": "paused"}))
    assert scheduler.take_fire(store, dataset, "UTC") is None


@pytest.mark.sqlite  # its trigger stands for the process that deletes, and PostgreSQL has others
def test_a_dataset_that_is_deleted_meanwhile_is_told_and_stops_no_other(store: Store) -> None:
    for name in ("first", "gone", "last"):
        make_dataset(store, name=name)
    gone = "(SELECT id FROM datasets WHERE name = 'gone')"
    parts = ("bots", "recipes", "schemas")
    deletions = [f"DELETE FROM {table} WHERE dataset_id = {gone};" for table in parts]
    deletions.append("DELETE FROM datasets WHERE name = 'gone';")
    with store.writing() as writer:
        writer.execute(
            f"CREATE TRIGGER meanwhile AFTER INSERT ON runs BEGIN {' '.join(deletions)} END"
        )
    due, _, failed = scheduler.claim_due(store, "local")
    assert [queued.name for queued in due] == ["first", "last"]
    assert [(name, type(error)) for name, error in failed] == [("gone", NotFound)]


def test_of_eight_that_look_at_once_each_fire_is_taken_by_one(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    for number in range(4):
        scheduled(store, HOURLY, f"shop {number}")
    for round_ in range(1, 21):
        set_time(NOON - DAY + round_ * HOUR)
        with ThreadPoolExecutor(8) as pool:
            looks = list(pool.map(lambda _: ticked(store), range(8)))
        assert sorted(name for look in looks for name, _ in look) == [
            f"shop {number}" for number in range(4)
        ]
        with store.writing() as writer:
            writer.execute("UPDATE runs SET status = 'failed', error = 'x'")
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs") == 80


@pytest.mark.postgres  # elsewhere one writer keeps out all others
def test_a_look_at_the_schedules_waits_for_no_dataset_that_is_locked(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON - DAY)
    locked = scheduled(store, DAILY, "locked")
    scheduled(store, DAILY, "free")
    set_time(NOON)
    began = time.monotonic()
    with closing(Store(store.url)) as other, other.writing() as writer:
        lock_dataset(writer, locked)
        assert ticked(store) == [("free", True)]
    assert time.monotonic() - began < AT_ONCE
    assert ticked(store) == [("locked", True)]


@pytest.mark.parametrize(
    ("reason", "told_at"),
    [
        # For want of credits the first is told, else the second in a row.
        ("credits", {0: "No Run came of the last fire of shop; of that at {}: no credits."}),
        (
            "waiting",
            {
                1: "No Run came of the last 2 fires of shop; of that at {}: the Run before it was "
                "still waiting."
            },
        ),
    ],
)
def test_a_notice_tells_fires_that_are_skipped_once(
    store: Store, set_time: Callable[[int], None], reason: str, told_at: dict[int, str]
) -> None:
    set_time(NOON)
    dataset = scheduled(store, HOURLY)
    add_notice(store)
    if reason == "waiting":
        runs.enqueue(store, "local", dataset)
    else:
        with store.writing() as writer:
            writer.execute("UPDATE owners SET balance = 0")
    expected: list[tuple[str, str]] = []
    for number in range(3):
        moment = NOON + HOUR // 2 + number * HOUR
        set_time(moment)
        ticked(store)
        if number in told_at:
            said = told_at[number].format(ids.format_timestamp(Micros(moment))[:19] + "Z")
            expected.append(("failing", said))
        assert told(store) == expected


def test_a_dataset_that_runs_again_after_skipped_fires_is_told_as_well(
    store: Store, set_time: Callable[[int], None]
) -> None:
    set_time(NOON)
    dataset = scheduled(store, HOURLY)
    add_notice(store)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 0")
    set_time(NOON + HOUR // 2)
    ticked(store)
    with store.writing() as writer:
        writer.execute("UPDATE owners SET balance = 5")
    take(store, dataset)
    assert [kind for kind, _ in told(store)] == ["failing", "recovered", "changes"]
    assert told(store)[1][1] == "shop is well again: a Run was accepted."
