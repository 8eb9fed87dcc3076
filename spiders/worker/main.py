"""A crawl worker: one reactor, several Runs at once, until it is told to stop.

It stops on SIGTERM and at the end of its stdin, so it does not outlive who started it; its Runs go
back into the queue. A line on stdout every second says that it is not stuck, and another names the
isolated Runs that it has met: whoever started it has each executed in a process of its own, which
is a worker too, called with `--alone RUN`.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec import Struct

from livedata import config
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.model.ids import RunId
from livedata.services import interruptions, processes, runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.runs import Queued
from livedata.store.database.backend import Job, Jobs, NewerStore
from livedata.store.database.store import Store
from livedata.worker.log import ALONE, APART, configure
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.settings import fetch_config
from spiders.worker.executor import Executor
from spiders.worker.loop import until_next

log = logging.getLogger("livedata.crawl")

POLL = 0.25
SLOW_POLL = 10.0
"""The seconds between two looks at the queue by a worker that jobs call: some may be lost."""
RELEASE = 5.0
SWEEP = 10.0
"""The seconds between two looks for jobs that are lost, or left behind."""


class Call(Struct, frozen=True):
    """A Run that may start, and the job that calls for it."""

    queued: Queued
    job: Job


class RunQueue:
    """The queued Runs as one worker is called to them, and looks for them from time to time."""

    def __init__(self, executor: Executor, jobs: Jobs) -> None:
        self._executor = executor
        self._store = executor.store
        self._jobs = jobs
        self._next_look = 0.0
        self._empty_at: int | None = None
        self._trouble: str | None = None

    def upkeep(self, ring: Callable[[], object]) -> list[Coroutine[Any, Any, None]]:
        """What goes on while the worker works; `ring` is called when a job may have come."""
        return [self._jobs.listen(ring), self._release(), self._sweep()]

    @property
    def patience(self) -> float:
        """The seconds after which a worker that has room is to look again."""
        return SLOW_POLL if self._jobs.heard else until_next(POLL)

    async def called(self) -> Call | None:
        """A Run that a job calls for."""
        if not self._jobs.heard:
            return None
        # The job and its Run at once: each turn of the thread costs as much as a question.
        return await self._executor.ask(self._take)

    def finish(self, job: Job) -> None:
        """Let go of a job: its Run has begun, or need not begin now. It waits for the server."""
        self._jobs.finish(job)

    async def waiting(self, limit: int, *, idle: bool) -> list[Queued]:
        """The Runs that may start now, if it is time to look; `idle` if none is executed."""
        # After trouble at once: the store answers again, and that is to be told.
        if self._jobs.heard and not self._trouble and time.monotonic() < self._next_look:
            return []
        try:
            # An idle worker that has found nothing finds nothing until somebody writes.
            writes = self._store.writes() if idle else None
            if writes is not None and writes == self._empty_at:
                return []
            waiting = await self._executor.waiting(limit)
        except StoreUnavailable as error:
            self._empty_at = None
            self._tell(error.message)
            return []
        self._tell(None)
        self._empty_at = None if waiting else writes
        self._next_look = time.monotonic() + SLOW_POLL
        return waiting

    def _take(self) -> Call | None:
        while (job := self._jobs.take()) is not None:
            if job.run is None:
                about = {"event": "job.strange", "fields": {"task": job.task}}
                log.warning(
                    "Job %d, of %r, calls for no Run: deleted.", job.id, job.task, extra=about
                )
            else:
                with suppress(StoreUnavailable):
                    if (queued := runs.called(self._store, job.run)) is not None:
                        return Call(queued, job)
            self._jobs.finish(job)
        return None

    def _tell(self, trouble: str | None) -> None:
        """Say what is wrong with the store, and when it is over."""
        # Once and not four times a second: a log must not fill up while a server is away.
        if trouble == self._trouble:
            return
        self._trouble = trouble
        event = "store.unavailable" if trouble else "store.available"
        log.warning("%s", trouble or "The store answers again.", extra={"event": event})

    async def _release(self) -> None:
        """Take back what lost processes held, so that it is started again."""
        while True:
            with suppress(StoreUnavailable):  # who looks for Runs says so
                await self._executor.ask(interruptions.reap_expired_leases, self._store)
            await asyncio.sleep(until_next(RELEASE))

    async def _sweep(self) -> None:
        """Let go of jobs that nobody will finish, and write those that are missing."""
        while True:
            await self._executor.ask(self._jobs.sweep)
            with suppress(StoreUnavailable):
                await self._executor.ask(runs.publish_forgotten, self._store)
            await asyncio.sleep(until_next(SWEEP))


ALIVE = 1.0
LEAVING = 3.0
"""The seconds in which a worker that ends takes leave of the store."""
# What libraries keep for each crawl, and memory in pieces, add up in a process that never ends.
RECYCLED_AFTER = 2000
"""After so many Runs a worker makes room for a fresh one."""
CLEANED_AFTER = 20
"""After so many Runs the garbage that they leave is looked for."""


class Worker:
    """Starts what is queued while there is room, and it holds no more than `memory` megabytes."""

    def __init__(self, executor: Executor, queue: RunQueue, memory: int) -> None:
        self._executor = executor
        self._queue = queue
        self._memory = memory
        self._apart: set[RunId] = set()
        self._tasks: dict[asyncio.Task[bool], Queued] = {}
        self._called_again: set[RunId] = set()
        self._places = asyncio.Semaphore(executor.at_once)
        self._executed = 0
        self._worn = False
        self._stopping = False
        self._outdated = False
        self._woken = asyncio.Event()

    def stop(self) -> None:
        """Give every Run back and come to an end."""
        self._stopping = True
        self._woken.set()
        self._executor.give_back()

    async def work(self, alone: Queued | None = None) -> None:
        """Work until it is stopped, or has executed its share of Runs; of one `alone`, that one."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, self.stop)
        loop.add_reader(sys.stdin.fileno(), self._watch_stdin)
        upkeep = [] if alone else self._queue.upkeep(self._woken.set)
        others = [asyncio.ensure_future(each) for each in (self._show_life(), *upkeep)]
        async with self._executor.heartbeats():
            if alone:
                self._start(alone)
                self._worn = True
            while not (self._stopping or self._worn):
                await self._start_called()
                await self._start_waiting()
                await self._wait()
            while self._tasks:
                await self._wait()
        await _cancel(others)

    def _room(self) -> int:
        """How many Runs may start now."""
        if self._worn or self._stopping:
            return 0
        # A Run that waits elsewhere has given up its place, so one more may start.
        return self._executor.at_once - len(self._tasks) + self._executor.waiting_elsewhere

    async def _start_called(self) -> None:
        """Start what jobs call for."""
        while self._room() > 0 and (call := await self._queue.called()) is not None:
            queued, done = call.queued, partial(self._queue.finish, call.job)
            if queued.isolated:
                self._apart.add(queued.run)
                await self._executor.ask(done)
            elif queued in self._tasks.values():
                self._called_again.add(queued.run)
                await self._executor.ask(done)
            else:
                self._start(queued, done)

    async def _start_waiting(self) -> None:
        """Start what waits in the queue."""
        room = self._room()
        if room <= 0:
            return
        # Another worker may be faster with some of them: such a task ends at once, and its place is
        # for a Run that is free.
        for queued in await self._queue.waiting(room, idle=not self._tasks):
            if queued.isolated:
                self._apart.add(queued.run)
            elif queued not in self._tasks.values():
                self._start(queued)

    def _start(self, queued: Queued, begun: Callable[[], None] | None = None) -> None:
        executing = self._executor.execute_one(queued, self._places, begun)
        task = asyncio.ensure_future(executing)
        task.add_done_callback(lambda _: self._woken.set())
        self._tasks[task] = queued

    async def _wait(self) -> None:
        """Wait until a Run ends, a job comes, or it is time to look at the queue."""
        # A Run that gives its place up for a time tells nobody; to count places costs nothing.
        seconds = self._queue.patience if self._room() > 0 else POLL
        timer = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        await self._woken.wait()
        timer.cancel()
        self._woken.clear()
        for task in [task for task in self._tasks if task.done()]:
            self._end(task)

    def _end(self, task: asyncio.Task[bool]) -> None:
        """Let go of a task that has ended, and say what went wrong with it."""
        queued = self._tasks.pop(task)
        called_again = queued.run in self._called_again
        self._called_again.discard(queued.run)
        error = self._executor.errors.pop(queued.run, None) or task.exception()
        if error is not None or task.result():
            self._executed += 1
            self._clean_up()
        elif called_again and self._room() > 0:
            # It found its site taken, and was called to it meanwhile: nobody calls a third time.
            self._start(queued)
        if isinstance(error, NewerStore):
            self._leave(error)
        elif error is not None:
            about = {"dataset": queued.name, "run": ids.format_uuid(queued.run)}
            extra = {"event": "execution.error", "fields": about}
            log.error("%s: %s", queued.name, error, extra=extra)
        # Asked only then: what is read four times a second keeps an idle machine busy.
        self._worn = self._worn or self._is_worn()

    def _leave(self, error: NewerStore) -> None:
        """Say once that this program is too old for its store, and end: nothing can be given back.

        Who starts the next process may have the new program by then.
        """
        if not self._outdated:
            self._outdated = True
            log.error("%s", error.message, extra={"event": "store.newer"})
            self.stop()

    def _clean_up(self) -> None:
        """Free what Runs have left, if so many have ended."""
        if self._executed % CLEANED_AFTER == 0:
            # Scrapy leaves each Run in cycles, and Python by itself would let 5 MiB of them gather.
            gc.collect()
        if self._executed == CLEANED_AFTER:
            # Modules, nearly all of it: they live to the end, and looking through them takes 40 ms.
            gc.freeze()

    def _is_worn(self) -> bool:
        """Whether a fresh worker would do better."""
        return (
            self._executed >= RECYCLED_AFTER
            or self._executor.engine.stuck.is_set()
            or processes.memory(os.getpid()) > self._memory
        )

    async def _show_life(self) -> None:
        """Say every second that the worker is not stuck, and which isolated Runs it has met."""
        # By the event loop: a thread would still beat for a loop that a page has stopped.
        while True:
            apart = [ids.format_uuid(run) for run in self._apart]
            self._apart.clear()
            sys.stdout.write(" ".join((APART, *apart)) + "\n" if apart else ".\n")
            sys.stdout.flush()
            await asyncio.sleep(until_next(ALIVE))

    def _watch_stdin(self) -> None:
        # What stands there means nothing. Its end does: the process that started this one is gone.
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.stop()


async def _cancel(tasks: Collection[asyncio.Future[None]]) -> None:
    """Cancel tasks until they have ended, or it takes too long."""
    left, end = set(tasks), time.monotonic() + LEAVING
    while left and time.monotonic() < end:
        # Again and again: who hears of a job in the very moment goes on.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=LEAVING / 6)


def main() -> None:
    """Work on the store of the settings."""
    settings = config.load()
    words = sys.argv[1:]
    configure(settings, as_json=words[:2] == ["--log", "json"], for_people="%(message)s")
    store = Store(settings.database_url)
    alone = None
    if words[-2:-1] == [ALONE]:
        alone = runs.called(store, RunId(ids.raw_id(words[-1])))
        if alone is None or not alone.isolated:
            return  # somebody has begun it meanwhile, or it is over
    with crawl_engine() as engine:
        executor = Executor(
            store,
            engine,
            fetch_config(settings),
            AcceptancePolicy(settings.mass_loss, settings.guards),
            lambda _queued, _page: None,
            settings.at_once,
            settings.research,
        )
        worker = Worker(executor, RunQueue(executor, store.jobs()), settings.crawler_memory)
        engine.run(worker.work(alone))
    end_process(0, engine)
