"""A crawl worker: one reactor, several Runs at once, until it is told to stop.

It stops on SIGTERM and at the end of its stdin, so it does not outlive who started it; its Runs go
back into the queue. A line on stdout every second says that it is not stuck.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from functools import partial
from typing import Any

from livedata import config
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.services import runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.runs import Queued
from livedata.services.scheduling import lost_runs, processes
from livedata.store.database.backend import Jobs
from livedata.store.database.store import Store
from livedata.worker.log import configure
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.settings import fetch_config
from spiders.worker.executor import Executor

log = logging.getLogger("livedata.crawl")

POLL = 0.25
SLOW_POLL = 10.0
"""The seconds between two looks at the queue by a worker that jobs call: some may be lost."""
ALIVE = 1.0
RELEASE = 5.0
SWEEP = 10.0
"""The seconds between two looks for jobs that are lost, or left behind."""
LEAVING = 3.0
"""The seconds in which a worker that ends takes leave of the store."""
# What libraries keep for each crawl, and memory in pieces, add up in a process that never ends.
RECYCLED_AFTER = 2000
"""After so many Runs a worker makes room for a fresh one."""
CLEANED_AFTER = 20
"""After so many Runs the garbage that they leave is looked for."""


class Worker:
    """Starts what is queued while there is room, and it holds no more than `memory` megabytes.

    It starts what `jobs` call for, if there are some, and looks at the queue from time to time.
    """

    def __init__(self, executor: Executor, memory: int, jobs: Jobs | None) -> None:
        self._executor = executor
        self._memory = memory
        self._jobs = jobs
        self._apart: Queued | None = None
        self._next_look = 0.0
        self._tasks: dict[asyncio.Task[bool], Queued] = {}
        self._places = asyncio.Semaphore(executor.at_once)
        self._executed = 0
        self._worn = False
        self._stopping = asyncio.Event()
        self._trouble: str | None = None

    def stop(self) -> None:
        """Give every Run back and come to an end."""
        self._stopping.set()
        self._executor.give_back()

    async def work(self) -> None:
        """Work until it is stopped, or has executed its share of Runs."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, self.stop)
        loop.add_reader(sys.stdin.fileno(), self._watch_stdin)
        others = [asyncio.ensure_future(_alive()), asyncio.ensure_future(self._release())]
        if self._jobs is not None:
            others += map(asyncio.ensure_future, (self._jobs.listen(), self._sweep(self._jobs)))
        async with self._executor.heartbeats():
            while not (self._stopping.is_set() or self._worn):
                if self._jobs is not None:
                    await self._start_called(self._jobs)
                if self._room() > 0 and self._has_to_look():
                    await self._start_waiting()
                await self._wait()
            while self._tasks:
                await self._wait()
        await _end(others)

    def _room(self) -> int:
        """How many Runs may start now; none beside one that runs alone, or is about to."""
        alone = self._apart or any(queued.isolated for queued in self._tasks.values())
        if alone or self._worn or self._stopping.is_set():
            return 0
        # A Run that waits elsewhere has given up its place, so one more may start.
        return self._executor.at_once - len(self._tasks) + self._executor.waiting_elsewhere

    def _is_called(self) -> bool:
        """Whether jobs are heard of, so that it need not look at the queue all the time."""
        return self._jobs is not None and self._jobs.heard

    def _has_to_look(self) -> bool:
        # After trouble at once: the store answers again, and that is to be told.
        due = time.monotonic() >= self._next_look
        return due or self._trouble is not None or not self._is_called()

    async def _start_called(self, jobs: Jobs) -> None:
        """Start what jobs call for."""
        if self._apart and not self._tasks:
            self._start(self._apart)
            self._apart = None
        jobs.rung.clear()
        while self._room() > 0 and (job := await jobs.take()) is not None:
            try:
                queued = await self._executor.called(job.run)
            except StoreUnavailable:
                queued = None
            if queued is None or queued in self._tasks.values():
                await jobs.finish(job)
            elif queued.isolated and self._tasks:
                # No other begins meanwhile, or this one would never be alone.
                self._apart = queued
                await jobs.finish(job)
            else:
                self._start(queued, partial(jobs.finish, job))

    async def _start_waiting(self) -> None:
        """Start what is queued; an isolated Run runs alone."""
        try:
            queue = await self._executor.waiting(self._room())
        except StoreUnavailable as error:
            self._tell(error.message)
            return
        self._tell(None)
        if self._is_called():
            self._next_look = time.monotonic() + SLOW_POLL
        # Another worker may be faster with some of them: such a task ends at once, and its place is
        # for a Run that is free.
        for queued in queue:
            if queued in self._tasks.values():
                continue
            if queued.isolated and self._tasks:
                return
            self._start(queued)
            if queued.isolated:
                return

    def _start(self, queued: Queued, decided: Callable[[], Awaitable[None]] | None = None) -> None:
        executing = self._executor.execute_one(queued, self._places, decided)
        self._tasks[asyncio.ensure_future(executing)] = queued

    def _tell(self, trouble: str | None) -> None:
        """Say what is wrong with the store, and when it is over."""
        # Once and not four times a second: a log must not fill up while a server is away.
        if trouble == self._trouble:
            return
        self._trouble = trouble
        event = "store.unavailable" if trouble else "store.available"
        log.warning("%s", trouble or "The store answers again.", extra={"event": event})

    async def _wait(self) -> None:
        """Wait until a Run ends, or it is time to look for others."""
        events = [asyncio.ensure_future(self._stopping.wait())]
        # Without room a job has to wait, and a bell that goes on ringing would only wake this up.
        if self._jobs is not None and self._room() > 0:
            events.append(asyncio.ensure_future(self._jobs.rung.wait()))
        waited_for: set[asyncio.Future[Any]] = {*self._tasks}
        # Once it is to stop, only the end of a Run is waited for.
        if not (self._tasks and self._stopping.is_set()):
            waited_for.update(events)
        # A Run that gives its place up for a time tells nobody; to count places costs nothing.
        seconds = SLOW_POLL if self._is_called() and self._room() > 0 else POLL
        first = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(waited_for, timeout=seconds, return_when=first)
        for event in events:
            event.cancel()
        for task in [task for task in self._tasks if task in done]:
            queued = self._tasks.pop(task)
            error = self._executor.errors.pop(queued.run, None) or task.exception()
            if error is not None or task.result():
                self._executed += 1
                self._clean_up()
            if error is not None:
                about = {"dataset": queued.name, "run": ids.format_uuid(queued.run)}
                extra = {"event": "execution.error", "fields": about}
                log.error("%s: %s", queued.name, error, extra=extra)
            # Asked only then: what is read four times a second keeps an idle machine busy.
            self._worn = self._worn or self._is_worn()

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

    async def _release(self) -> None:
        """Take back what lost processes held, so that it is started again."""
        store = self._executor.store
        while True:
            with suppress(StoreUnavailable):  # the loop that looks for Runs says so
                await self._executor.ask(lost_runs.reap_expired_leases, store)
            await asyncio.sleep(RELEASE)

    async def _sweep(self, jobs: Jobs) -> None:
        """Let go of jobs that nobody will finish, and write those that are missing."""
        while True:
            await jobs.sweep()
            with suppress(StoreUnavailable):
                await self._executor.ask(runs.publish_forgotten, self._executor.store)
            await asyncio.sleep(SWEEP)

    def _watch_stdin(self) -> None:
        # What stands there means nothing. Its end does: the process that started this one is gone.
        if not os.read(sys.stdin.fileno(), 1024):
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            self.stop()


async def _end(tasks: Collection[asyncio.Future[None]]) -> None:
    """Cancel tasks until they have ended, or it takes too long."""
    left, end = set(tasks), time.monotonic() + LEAVING
    while left and time.monotonic() < end:
        # Again and again: who hears of a job in the very moment goes on.
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=LEAVING / 6)


async def _alive() -> None:
    # By the event loop: a thread would still beat for a loop that a page has stopped.
    while True:
        sys.stdout.write(".\n")
        sys.stdout.flush()
        await asyncio.sleep(ALIVE)


def main() -> None:
    """Work on the store of the settings."""
    settings = config.load()
    configure(settings, as_json=sys.argv[1:] == ["--log", "json"], for_people="%(message)s")
    store = Store(settings.database_url)
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
        engine.run(Worker(executor, settings.crawler_memory, store.jobs()).work())
    end_process(0, engine)
