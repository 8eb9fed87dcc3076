"""On PostgreSQL a job calls crawl workers to each Run that may start; it is only a call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from typing import TypeVar

import pytest

from livedata.model import ids
from livedata.model.errors import Damaged, StoreUnavailable
from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId, RunId
from livedata.services import attempts, datasets, interruptions, runs, scheduler
from livedata.services.attempts import Attempt
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.store import queue
from livedata.store.database.backend import Job, Jobs, Writer
from livedata.store.database.store import Store
from tests.databases import Server
from tests.made import harvest, make_dataset, take
from tests.services.test_leases import lapse
from tests.services.test_schedules import scheduled

pytestmark = pytest.mark.postgres  # crawl workers look at a file by themselves

Answer = TypeVar("Answer")
Free = Callable[[Store, Attempt], object]


def jobs(store: Store) -> list[tuple[str, str]]:
    """The (Run, status) of every job, the oldest first."""
    with store.reading() as reader:
        rows = reader.rows("SELECT args ->> 'run', status FROM procrastinate_jobs ORDER BY id")
    return [(run, status) for run, status in rows]


def wipe(store: Store) -> None:
    with store.writing() as writer:
        writer.execute("DELETE FROM procrastinate_jobs")


def enqueue(store: Store, name: str) -> RunId:
    """A Run of a new dataset, all of which read one site."""
    run, _ = runs.enqueue(store, "local", make_dataset(store, name=name))
    return RunId(ids.raw_id(run))


class Full(Exception):
    """What makes a transaction fail."""


def enqueue_and_fail(writer: Writer, dataset: DatasetId) -> None:
    queue.publish(writer, queue.add(writer, dataset, 1, "shop.example", writer.now()))
    raise Full


def begin(store: Store, run: RunId) -> Attempt:
    attempt = attempts.begin(store, run)
    assert attempt is not None
    return attempt


def listening(store: Store, act: Callable[[Jobs, asyncio.Event], Awaitable[Answer]]) -> Answer:
    """What an act answers while a worker hears of jobs."""

    async def main() -> Answer:
        jobs, rung = store.jobs(), asyncio.Event()
        hearing = asyncio.ensure_future(jobs.listen(rung.set))
        await asyncio.wait_for(rung.wait(), 10)
        rung.clear()
        try:
            return await act(jobs, rung)
        finally:
            hearing.cancel()
            await asyncio.gather(hearing, return_exceptions=True)

    # Not asyncio.run, which takes away the loop that other tests have for their reactor.
    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(main())


async def taken(jobs: Jobs, _rung: asyncio.Event | None = None) -> Job:
    job = jobs.take()
    assert job is not None
    return job


# What calls for a Run


def test_a_run_and_its_job_are_queued_together_or_not_at_all(store: Store) -> None:
    dataset = make_dataset(store)
    with pytest.raises(Full), store.writing() as writer:
        enqueue_and_fail(writer, dataset)
    assert jobs(store) == []
    run, _ = runs.enqueue(store, "local", dataset)
    assert jobs(store) == [(run, "todo")]


def test_a_tick_calls_for_the_run_of_a_fire(store: Store) -> None:
    scheduled(store, "* * * * *")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")
    (fire,) = scheduler.tick(store, "UTC")
    assert fire.queued is not None
    assert jobs(store) == [(ids.format_uuid(fire.queued.run), "todo")]


def test_a_fire_on_a_run_that_waits_calls_for_no_second_time(store: Store) -> None:
    dataset = scheduled(store, "* * * * *")
    run, _ = runs.enqueue(store, "local", dataset)
    for _ in range(3):
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = next_run_at - 120000000")
        (fire,) = scheduler.tick(store, "UTC")
        assert fire.waited
    assert jobs(store) == [(run, "todo")]


def test_a_batch_calls_once_to_each_site(store: Store) -> None:
    for name in ("a", "b", "c"):
        scheduled(store, "* * * * *", name=name)
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")
    first, *others = scheduler.tick(store, "UTC")
    assert first.queued is not None
    assert len(others) == 2
    assert len(jobs(store)) == 1


def test_nobody_is_called_to_a_run_that_its_caller_executes(store: Store) -> None:
    runs.take_up(store, "local", make_dataset(store), "shop")
    scheduled(store, "* * * * *", name="on schedule")
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000 WHERE next_run_at IS NOT NULL")
    assert len(scheduler.claim_due(store, "local")[0]) == 2
    assert jobs(store) == []


def finish(store: Store, attempt: Attempt) -> None:
    gathered = harvest(attempt.recipe, (), StopReason("natural_end"))
    attempts.finish(store, attempt, gathered, AcceptancePolicy())


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
def test_who_frees_a_turn_calls_for_the_run_that_waits_longest(store: Store, free: Free) -> None:
    first, second, _third = (enqueue(store, name) for name in ("a", "b", "c"))
    attempt = begin(store, first)
    wipe(store)
    free(store, attempt)
    assert jobs(store) == [(ids.format_uuid(second), "todo")]


def test_a_turn_that_is_not_got_frees_the_old_one_too(store: Store) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")
    attempt, wipe_ = begin(store, first), wipe
    with store.writing() as writer:
        writer.execute("UPDATE runs SET site = 'elsewhere' WHERE id = :run", run=second)
    begin(store, second)
    third = enqueue(store, "c")
    wipe_(store)
    for _ in range(2):
        assert not attempts.take_turn(store, attempt, "elsewhere")
    assert jobs(store) == [(ids.format_uuid(third), "todo")]


def test_a_run_that_is_given_back_is_called_for_again(store: Store) -> None:
    attempt = begin(store, enqueue(store, "a"))
    wipe(store)
    attempts.give_back(store, attempt)
    assert jobs(store) == [(ids.format_uuid(attempt.run), "todo")]


def test_a_run_that_gives_its_turn_back_at_another_site_frees_that_one(store: Store) -> None:
    attempt, there = begin(store, enqueue(store, "a")), enqueue(store, "b")
    with store.writing() as writer:
        writer.execute("UPDATE runs SET site = 'elsewhere' WHERE id = :run", run=there)
    attempts.take_turn(store, attempt, "elsewhere")
    wipe(store)
    attempts.give_back(store, attempt)
    assert [run for run, _ in jobs(store)] == [
        ids.format_uuid(attempt.run),
        ids.format_uuid(there),
    ]


def test_a_run_that_has_its_job_already_gets_no_second_one(store: Store) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")
    finish(store, begin(store, first))
    assert [run for run, _ in jobs(store)] == [ids.format_uuid(first), ids.format_uuid(second)]


def test_of_each_free_site_a_run_whose_job_was_lost_is_called_for_again(store: Store) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")
    elsewhere, busy = enqueue(store, "c"), enqueue(store, "d")
    with store.writing() as writer:
        for run, site in ((elsewhere, "elsewhere"), (busy, "busy")):
            writer.execute("UPDATE runs SET site = :site WHERE id = :run", site=site, run=run)
    begin(store, busy)
    wipe(store)
    runs.publish_forgotten(store)
    assert jobs(store) == []  # who has queued them may be about to execute them
    with store.writing() as writer:
        writer.execute("UPDATE runs SET queued_at = queued_at - 6000000")
    for _ in range(2):
        runs.publish_forgotten(store)
    assert {run for run, _ in jobs(store)} == set(map(ids.format_uuid, (first, elsewhere)))
    assert second


def test_a_store_whose_tables_of_jobs_were_dropped_is_told_so(postgres: Server) -> None:
    name = postgres.create()
    with closing(Store(postgres.url(name))) as store:
        dataset = make_dataset(store)
        postgres.ask("DROP TABLE procrastinate_jobs CASCADE", name)
        with pytest.raises(StoreUnavailable, match=r"tables of procrastinate, .* are missing"):
            runs.enqueue(store, "local", dataset)
        assert "tables of procrastinate" in check_store(store).problems[0]
    postgres.drop(name)


# How it is heard


def test_a_job_comes_to_one_worker_and_a_second_one_of_its_site_waits(store: Store) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")

    async def act(jobs: Jobs, _rung: asyncio.Event) -> None:
        job = await taken(jobs)
        assert job.run == first
        assert jobs.take() is None
        jobs.finish(job)
        assert (await taken(jobs)).run == second

    listening(store, act)


def test_a_worker_hears_of_a_run_at_once(store: Store) -> None:
    async def act(jobs: Jobs, rung: asyncio.Event) -> RunId | None:
        await asyncio.to_thread(enqueue, store, "a")
        await asyncio.wait_for(rung.wait(), 2)
        return (await taken(jobs)).run

    assert listening(store, act)


def test_a_job_of_a_worker_that_is_gone_is_swept_and_holds_its_site_no_more(store: Store) -> None:
    first, second = enqueue(store, "a"), enqueue(store, "b")

    async def act(jobs: Jobs, _rung: asyncio.Event) -> RunId | None:
        await taken(jobs)
        assert jobs.take() is None
        jobs.sweep()
        assert jobs.take() is None  # this worker lives
        with store.writing() as writer:
            writer.execute(
                "UPDATE procrastinate_workers SET last_heartbeat = now() - interval '1 minute'"
            )
        other, rung = store.jobs(), asyncio.Event()
        hearing = asyncio.ensure_future(other.listen(rung.set))
        await asyncio.wait_for(rung.wait(), 10)
        other.sweep()
        run = (await taken(other)).run
        hearing.cancel()
        await asyncio.gather(hearing, return_exceptions=True)
        return run

    assert listening(store, act) == second
    assert first


def test_a_worker_that_stops_leaves_no_job_behind_that_holds_its_site(store: Store) -> None:
    enqueue(store, "a"), enqueue(store, "b")
    first = listening(store, taken)

    async def sweep_and_take(jobs: Jobs, _rung: asyncio.Event) -> Job:
        jobs.sweep()
        return await taken(jobs)

    assert listening(store, sweep_and_take).run != first.run


def test_a_worker_that_was_counted_as_gone_goes_on_as_another(store: Store) -> None:
    async def act(jobs: Jobs, _rung: asyncio.Event) -> RunId:
        jobs.take()
        with store.writing() as writer:
            writer.execute("DELETE FROM procrastinate_workers")
        run = enqueue(store, "a")
        assert jobs.take() is None
        assert (await taken(jobs)).run == run
        return run

    assert listening(store, act)


def test_a_job_whose_run_is_gone_or_over_calls_for_nothing(store: Store) -> None:
    over = make_dataset(store, name="over")
    run = take(store, over)
    gone: DatasetId = make_dataset(store, name="gone")
    deleted, _ = runs.enqueue(store, "local", gone)
    runs.cancel(store, RunId(ids.raw_id(deleted)))
    datasets.remove(store, "local", gone)
    for each in (run, deleted):
        assert runs.called(store, RunId(ids.raw_id(each))) is None


FORGED = {
    "another task": ("somebody.elses", '{"run": "%s"}'),
    "no arguments": ("livedata.run", "{}"),
    "arguments that are no object": ("livedata.run", '["%s"]'),
    "a number": ("livedata.run", "12"),
    "null": ("livedata.run", "null"),
    "a Run that is no id": ("livedata.run", '{"run": "first"}'),
    "a Run that is no text": ("livedata.run", '{"run": {"id": "%s"}}'),
    "arguments that are nested deep": (
        "livedata.run",
        '{"run": ' + "[" * 3_000 + "]" * 3_000 + "}",
    ),
}


@pytest.mark.parametrize(("task", "arguments"), FORGED.values(), ids=FORGED.keys())
def test_a_job_that_another_program_has_written_calls_for_nothing(
    store: Store, task: str, arguments: str
) -> None:
    run = enqueue(store, "a")
    forge(store, task, arguments.replace("%s", ids.format_uuid(run)))

    async def act(jobs: Jobs, _rung: asyncio.Event) -> tuple[Job, Job | None]:
        jobs.finish(await taken(jobs))
        job = await taken(jobs)
        jobs.finish(job)
        return job, jobs.take()

    job, after = listening(store, act)
    assert (job.run, job.task, after) == (None, task, None)


def forge(store: Store, task: str, arguments: str) -> None:
    """Write a job as another program does."""
    with store.writing() as writer:
        writer.execute(
            "INSERT INTO procrastinate_jobs (queue_name, task_name, args) "
            "VALUES ('livedata', :task, CAST(:arguments AS jsonb))",
            task=task,
            arguments=arguments,
        )
