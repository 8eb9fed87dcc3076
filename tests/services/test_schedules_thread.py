"""The thread that follows the schedules goes on, whatever happens to its clock, store or jobs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from threading import Event

import pytest
import schedule

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import Damaged, StoreUnavailable
from livedata.model.ids import DatasetId, Micros
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, retention, scheduler
from livedata.services.fires import late_fires
from livedata.store.database.postgres import server
from livedata.store.database.sqlite import file as sqlite_file
from livedata.store.database.store import Store
from livedata.worker import schedules
from livedata.worker.schedules import Schedules
from tests.made import make_dataset
from tests.patience import until
from tests.services.conftest import Clock

DAY = 86_400


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "TICK", 0.02)
    monkeypatch.setenv("TZ", "UTC")  # the thread sets it, and a test leaves nothing behind


@contextmanager
def following(store: Store, zone: str = "UTC") -> Iterator[None]:
    """The schedules are followed meanwhile."""
    thread = Schedules(store, zone)
    thread.start()
    try:
        yield
    finally:
        thread.begin_stop()
        thread.finish_stop(time.monotonic() + 10)


def scheduled(store: Store, schedule: str = "30 11 * * *") -> DatasetId:
    dataset = make_dataset(store)
    wanted = read(UpdateDataset, {"status": "active", "schedule": schedule})
    datasets.update(store, "local", dataset, wanted)
    return dataset


def make_due(store: Store) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")


def queued(store: Store) -> int:
    with store.reading() as reader:
        count: int = reader.value("SELECT count(*) FROM runs")
        return count


def next_run(store: Store) -> Micros:
    with store.reading() as reader:
        moment: Micros = reader.value("SELECT next_run_at FROM datasets")
        return moment


def test_what_becomes_due_is_queued_once(store: Store) -> None:
    scheduled(store)
    with following(store), following(store):
        make_due(store)
        until(lambda: queued(store) == 1)
        until(lambda: next_run(store) > ids.now())
        Event().wait(0.2)
    assert queued(store) == 1


def test_a_start_in_another_time_zone_moves_the_next_fire(store: Store) -> None:
    scheduled(store)
    before = next_run(store)
    with following(store, "Asia/Kathmandu"):
        until(lambda: next_run(store) != before)
    # 11:30 in Kathmandu is 05:45 in UTC.
    assert ids.format_timestamp(next_run(store))[11:16] == "05:45"


def test_a_clock_that_was_ahead_for_a_time_silences_no_schedule(store: Store, step: Clock) -> None:
    scheduled(store)
    step(5 * DAY)
    with following(store):
        until(lambda: queued(store) == 1)
        step(0)
        until(lambda: next_run(store) <= ids.now() + DAY * 1_000_000)
    assert queued(store) == 1


def test_a_job_that_fails_stops_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(retention, "forget_old", broken)
    monkeypatch.setattr(scheduler, "replan", broken)
    scheduled(store)
    with following(store):
        make_due(store)
        until(lambda: queued(store) == 1)
    assert "a job of the schedules failed" in caplog.text


def test_damage_is_told_in_a_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(*_: object) -> None:
        raise Damaged("runs", b"", "facts")

    monkeypatch.setattr(retention, "forget_old", damaged)
    with following(store):
        until(lambda: "the column facts cannot be read" in caplog.text)
    assert "Traceback" not in caplog.text


def test_what_is_due_is_taken_while_much_that_is_old_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def go_on(_: Store, enough: Callable[[], bool] = lambda: False) -> None:
        while not enough():
            Event().wait(0.01)

    monkeypatch.setattr(retention, "forget_old", go_on)
    scheduled(store)
    with following(store):
        for count in (1, 2):
            make_due(store)
            until(lambda: next_run(store) > ids.now())
            with store.reading() as reader:
                skipped = reader.value("SELECT count(*) FROM skipped_fires")
            assert (queued(store), skipped) == (1, count - 1)


def test_a_store_that_is_locked_is_looked_at_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.05)
    monkeypatch.setattr(server, "LOCK_SECONDS", 0.05)
    scheduled(store)
    make_due(store)
    with closing(Store(store.url)) as other, ExitStack() as lock:
        writer = lock.enter_context(store.writing())
        if not store.url.startswith("sqlite"):
            # On a server who writes one thing keeps nobody from another.
            writer.written("LOCK TABLE runs IN EXCLUSIVE MODE")
        with following(other):
            until(lambda: "cannot be used" in caplog.text)
            lock.close()
            until(lambda: queued(store) == 1)


def test_late_schedules_are_reported_and_space_is_given_back_each_hour(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise StoreUnavailable("planted")

    monkeypatch.setattr(scheduler, "tick", lambda *_: iter(()))
    # As if an hour had passed.
    monkeypatch.setattr(schedule.Scheduler, "run_pending", schedule.Scheduler.run_all)
    monkeypatch.setattr(store, "shrink", fail)
    scheduled(store)
    make_due(store)
    with following(store):
        until(lambda: "planted" in caplog.text)
    assert (
        "1 schedule is late; the longest shop, which was due at 1970-01-01T00:00:01" in caplog.text
    )


def test_a_schedule_that_is_due_is_late_after_five_minutes(store: Store) -> None:
    scheduled(store)
    for minutes, late in ((4, None), (6, 1)):
        with store.writing() as writer:
            moment = ids.now() - minutes * 60_000_000
            writer.execute("UPDATE datasets SET next_run_at = :moment", moment=moment)
        fires = late_fires(store)
        assert (fires and fires.count) == late
