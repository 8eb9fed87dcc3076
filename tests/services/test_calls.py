"""On PostgreSQL crawl workers are called to each Run that may start; it is only a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from typing import TypeVar

import psycopg
import pytest

from livedata.model import ids
from livedata.model.errors import Damaged
from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId, RunId
from livedata.services import attempts, datasets, interruptions, runs, scheduler
from livedata.services.attempts import Attempt
from livedata.services.commit import CANCELLED, AcceptancePolicy
from livedata.store import queue
from livedata.store.database.backend import Calls, Writer
from livedata.store.database.postgres.transaction import CHANNEL
from livedata.store.database.store import Store
from tests.made import harvest, make_dataset, take
from tests.services.test_leases import lapse
from tests.services.test_schedules import scheduled

pytestmark = pytest.mark.postgres  # crawl workers look at a file by themselves

Answer = TypeVar("Answer")
Free = Callable[[Store, Attempt], object]
Heard = Callable[[], int]


@pytest.fixture
def heard(store: Store) -> Iterator[Heard]:
    """How many calls have come since it was asked last."""
    store.ensure()
    with psycopg.connect(store.url, autocommit=True) as driver:
        driver.execute(f"LISTEN {CHANNEL}")
        # What was sent before a question is answered comes with its answer.
        yield lambda: len([driver.execute("SELECT 1"), *driver.notifies(timeout=0)]) - 1


def enqueue(store: Store, name: str) -> RunId:
    """A Run of a new dataset, all of which read one site."""
    run, _ = runs.enqueue(store, "local", make_dataset(store, name=name))
    return RunId(ids.raw_id(run))


class Full(Exception):
    """What makes a transaction fail."""


def enqueue_and_fail(writer: Writer, dataset: DatasetId) -> None:
    queue.add(writer, dataset, 1, "shop.example", writer.now())
    queue.call(writer)
    raise Full


def begin(store: Store, run: RunId) -> Attempt:
    attempt = attempts.begin(store, run)
    assert attempt is not None
    return attempt


def finish(store: Store, attempt: Attempt) -> None:
    gathered = harvest(attempt.recipe, (), StopReason("natural_end"))
    attempts.finish(store, attempt, gathered, AcceptancePolicy())


# What calls


def test_a_run_and_its_call_come_together_or_not_at_all(store: Store, heard: Heard) -> None:
    dataset = make_dataset(store)
    with pytest.raises(Full), store.writing() as writer:
        enqueue_and_fail(writer, dataset)
    assert heard() == 0
    runs.enqueue(store, "local", dataset)
    assert heard() == 1


def test_a_batch_of_fires_calls_once(store: Store, heard: Heard) -> None:
    for name in ("a", "b", "c"):
        scheduled(store, "* * * * *", name=name)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")
    assert len([*scheduler.tick(store, "UTC")]) == 3
    assert heard() == 1
    assert [*scheduler.tick(store, "UTC")] == []
    assert heard() == 0


def test_a_fire_on_a_run_that_waits_calls_no_second_time(store: Store, heard: Heard) -> None:
    dataset = scheduled(store, "* * * * *")
    runs.enqueue(store, "local", dataset)
    assert heard() == 1
    for _ in range(3):
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = next_run_at - 120000000")
        (fire,) = scheduler.tick(store, "UTC")
        assert fire.waited
    assert heard() == 0


def test_nobody_is_called_to_a_run_that_its_caller_executes(store: Store, heard: Heard) -> None:
    runs.take_up(store, "local", make_dataset(store), "shop")
    scheduled(store, "* * * * *", name="on schedule")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000 WHERE next_run_at IS NOT NULL")
    assert len(scheduler.claim_due(store, "local")[0]) == 2
    assert heard() == 0


def lose(store: Store, attempt: Attempt) -> None:
    """Its process is gone for the third time."""
    with store.writing() as writer:
        writer.execute("UPDATE runs SET attempt = 3 WHERE id = :run", run=attempt.run)
    lapse(store, attempt)
    interruptions.reap_expired_leases(store)


FREE: dict[str, Free] = {
    "finish": finish,
    "give_up": lambda store, attempt: attempts.give_up(
        store, attempt.run, Damaged("rows", b"", "data"), attempt.fence
    ),
    "take_turn": lambda store, attempt: attempts.take_turn(store, attempt, "elsewhere.example"),
    "worker_lost": lose,
}


@pytest.mark.parametrize("free", FREE.values(), ids=FREE.keys())
def test_who_frees_a_turn_calls_if_a_run_waits_for_it(
    store: Store, heard: Heard, free: Free
) -> None:
    attempt, _second = begin(store, enqueue(store, "a")), enqueue(store, "b")
    heard()
    free(store, attempt)
    assert heard() == 1


@pytest.mark.parametrize("free", FREE.values(), ids=FREE.keys())
def test_who_frees_a_turn_for_which_nobody_waits_calls_nobody(
    store: Store, heard: Heard, free: Free
) -> None:
    attempt, elsewhere = begin(store, enqueue(store, "a")), enqueue(store, "b")
    with store.writing() as writer:
        writer.execute("UPDATE runs SET site = 'it''s elsewhere' WHERE id = :run", run=elsewhere)
    heard()
    free(store, attempt)
    assert heard() == 0


def test_a_turn_that_is_not_got_frees_the_old_one(store: Store, heard: Heard) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")
    attempt = begin(store, first)
    with store.writing() as writer:
        writer.execute("UPDATE runs SET site = 'elsewhere' WHERE id = :run", run=second)
    begin(store, second)
    enqueue(store, "c")
    heard()
    for _ in range(2):
        assert not attempts.take_turn(store, attempt, "elsewhere")
    assert heard() == 1


def test_a_run_that_is_given_back_calls(store: Store, heard: Heard) -> None:
    attempt = begin(store, enqueue(store, "a"))
    heard()
    attempts.give_back(store, attempt)
    assert heard() == 1


def test_a_run_that_is_queued_while_another_frees_its_site_is_called_for(
    store: Store, heard: Heard
) -> None:
    attempt, second = begin(store, enqueue(store, "a")), make_dataset(store, name="b")
    heard()
    with store.writing() as writer:
        interruptions.end_fenced(writer, attempt.run, attempt.fence, CANCELLED)
        # Whoever is called to this one finds the site taken as yet.
        runs.enqueue(store, "local", second)
        assert heard() == 1
        assert attempts.claim(store, 9).begun == ()
    assert heard() == 1
    assert len(attempts.claim(store, 9).begun) == 1


# How it is heard


def listening(store: Store, act: Callable[[Calls, asyncio.Event], Awaitable[Answer]]) -> Answer:
    """What an act answers while a worker hears calls."""

    async def main() -> Answer:
        calls, rung = store.calls(), asyncio.Event()
        hearing = asyncio.ensure_future(calls.listen(rung.set))
        await asyncio.wait_for(rung.wait(), 10)
        rung.clear()
        try:
            return await act(calls, rung)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    # Not asyncio.run, which takes away the loop that other tests have for their reactor.
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(main())


def test_a_worker_hears_of_a_run_at_once(store: Store) -> None:
    async def act(calls: Calls, rung: asyncio.Event) -> bool:
        await asyncio.to_thread(enqueue, store, "a")
        await asyncio.wait_for(rung.wait(), 2)
        return calls.heard

    assert listening(store, act)


def test_a_call_for_a_store_in_another_schema_is_not_heard(store: Store) -> None:
    async def act(_calls: Calls, rung: asyncio.Event) -> bool:
        with psycopg.connect(store.url, autocommit=True) as driver:
            driver.execute(f"SELECT pg_notify('{CHANNEL}', 'another'), pg_sleep(0)")
            driver.execute(f"NOTIFY {CHANNEL}")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(rung.wait(), 0.3)
        await asyncio.to_thread(enqueue, store, "a")
        return await asyncio.wait_for(rung.wait(), 2)

    assert listening(store, act)


def test_a_worker_whose_connection_ends_looks_by_itself_until_it_hears_again(
    store: Store,
) -> None:
    def cut() -> None:
        with psycopg.connect(store.url, autocommit=True) as driver:
            driver.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database()"
            )

    async def act(calls: Calls, rung: asyncio.Event) -> list[bool]:
        heard = [calls.heard]
        for _ in range(2):
            await asyncio.to_thread(cut) if calls.heard else None
            await asyncio.wait_for(rung.wait(), 10)
            rung.clear()
            heard.append(calls.heard)
        return heard

    assert listening(store, act) == [True, False, True]


def test_a_run_that_is_gone_or_over_has_no_other_beside_it(store: Store) -> None:
    over = make_dataset(store, name="over")
    run = take(store, over)
    gone: DatasetId = make_dataset(store, name="gone")
    deleted, _ = runs.enqueue(store, "local", gone)
    runs.cancel(store, RunId(ids.raw_id(deleted)))
    datasets.remove(store, "local", gone)
    for each in (run, deleted):
        assert runs.next_beside(store, RunId(ids.raw_id(each))) is None
