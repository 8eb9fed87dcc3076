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
import random
import signal
import sys
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from livedata import config
from livedata.model import ids
from livedata.model.errors import StoreUnavailable
from livedata.model.ids import RunId
from livedata.services import interruptions, processes, runs
from livedata.services.attempts import Claim
from livedata.services.commit import AcceptancePolicy
from livedata.services.runs import Queued
from livedata.store.database.backend import Calls, NewerStore
from livedata.store.database.store import Store
from livedata.worker.log import ALONE, APART, configure
from spiders.crawl.engine import crawl_engine, end_process
from spiders.crawl.settings import fetch_config
from spiders.worker.executor import Executor
from spiders.worker.loop import around, until_next

log = logging.getLogger("livedata.crawl")

POLL = 0.25
SLOW_POLL = 10.0
"""The seconds between two looks at the queue by a worker that is called: a call may be lost."""
SPREAD = 2.0
"""The seconds within which the workers look that a call has woken, if there are very many."""
SPREAD_EACH = 0.01
"""No more than that for each of them."""
LEAST_SPREAD = 0.005
SOON = 1.0
"""The seconds after which a worker looks again that was told of no more than a part."""
FAILED, FAILED_OFTEN = 0.5, 3.0
"""Those after the store could not be reached, and after that happened many times; more or less by
half, so that not all workers come at once to a server that was started again."""
RELEASE = 5.0
_NOTHING = (Claim(), 0.0)


class RunQueue:
    """The queued Runs as one worker is called to them, and looks for them from time to time."""

    def __init__(self, executor: Executor, calls: Calls) -> None:
        self._executor = executor
        self._store = executor.store
        self._calls = calls
        self._ring: Callable[[], object] = lambda: None
        self._looking: asyncio.TimerHandle | None = None
        self._due = True
        self._called = False
        self._spread = 0.0
        self._next_look = 0.0
        self._empty_at: int | None = None
        self._trouble: str | None = None
        self._pause = FAILED
        self._not_before = 0.0

    def upkeep(self, ring: Callable[[], object]) -> list[Coroutine[Any, Any, None]]:
        """What goes on while the worker works; `ring` is called when it is time to look."""
        self._ring = ring
        return [self._calls.listen(self._hear), self._release()]

    @property
    def patience(self) -> float:
        """The seconds after which a worker that has room is to look again."""
        return SLOW_POLL if self._calls.heard else until_next(POLL)

    def look_again(self) -> None:
        """Look when there is room: something may start now that could not before."""
        self._due = True

    async def claim(self, room: int, *, idle: bool) -> tuple[Claim, float]:
        """Begin what may start, if it is time to look, with a moment before that.

        It is `idle` if nothing is executed. Raises NewerStore if the store was migrated meanwhile.
        """
        if time.monotonic() < self._not_before:
            return _NOTHING
        # After trouble at once: the store answers again, and that is to be told.
        waits = self._calls.heard and not self._due and not self._trouble
        if waits and time.monotonic() < self._next_look:
            return _NOTHING
        # Before the look: who is called during it looks again.
        called, self._called, self._due = self._called, False, False
        try:
            if (apart := self._waiting(room, idle=idle)) is not None:
                claimed = Claim(apart=apart), 0.0
            else:
                claimed = await self._executor.claim(room)
        except StoreUnavailable as error:
            if isinstance(error, NewerStore) and self._next_look:
                raise
            self._empty_at = None
            self._tell(error.message)
            seconds = around(self._pause)
            self._pause = min(FAILED_OFTEN, self._pause * 1.5)
            self._not_before = time.monotonic() + seconds
            self._look_in(seconds)
            return _NOTHING
        self._tell(None)
        self._pause = FAILED
        self._next_look = time.monotonic() + SLOW_POLL
        self._learn(claimed[0], room, called=called)
        return claimed

    def _waiting(self, room: int, *, idle: bool) -> Sequence[Queued] | None:
        """What is isolated, if nothing else may start; None if something may, or nobody knows."""
        # A question to a file waits for no writer, but whoever begins a Run keeps the others out.
        if self._store.remote:
            return None
        # An idle worker that has found nothing finds nothing until somebody writes.
        writes = self._store.writes() if idle else None
        if writes is not None and writes == self._empty_at:
            return ()
        waiting = runs.waiting(self._store, room)
        self._empty_at = None if waiting else writes
        return waiting if all(queued.isolated for queued in waiting) else None

    def _learn(self, claim: Claim, room: int, *, called: bool) -> None:
        """Note whether there may be more, and whether others come sooner when all are called."""
        claimed = len(claim.begun) + len(claim.singly)
        if claimed >= room:
            self._due = True
        elif claim.more:
            self._look_in(SOON)
        # Of many that are called to one Run the first has it. Who comes in vain comes later from
        # then on, so that however many there are, few ask at a time, and one of them soon.
        if called and claimed:
            self._spread = self._spread / 4 if self._spread > LEAST_SPREAD else 0.0
        elif called:
            most = min(SPREAD, SPREAD_EACH * self._calls.listeners)
            self._spread = min(most, max(LEAST_SPREAD, self._spread * 2))

    def _hear(self) -> None:
        """A call has come, or none will: look after a while, for all that come meanwhile."""
        seconds = random.uniform(0, self._spread)  # noqa: S311  (no secret)
        self._look_in(seconds, called=True)

    def _look_in(self, seconds: float, *, called: bool = False) -> None:
        """Look after some seconds, or when it was to look before that."""
        loop = asyncio.get_running_loop()
        if self._looking is not None:
            if self._looking.when() <= loop.time() + seconds:
                return
            self._looking.cancel()
        self._looking = loop.call_later(seconds, self._look, called)

    def _look(self, called: bool) -> None:
        self._looking = None
        self._due = True
        self._called = called
        self._ring()

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
        # In their order: they are executed one after the other, those that wait longest first.
        self._apart: dict[RunId, None] = {}
        self._tasks: dict[asyncio.Task[bool], Queued] = {}
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

    async def _start_waiting(self) -> None:
        """Start what waits in the queue."""
        if self._tasks:
            # The Runs whose ends are being written make room in a moment: one look is for all of
            # them. A claim of one Run takes as long as one of four.
            await self._executor.catch_up()
            self._end_done()
        # Taken before: a Run that has given its place up may come back while others begin.
        taken, room = 0, self._room()
        while taken < room and not self._places.locked():
            await self._places.acquire()
            taken += 1
        if not taken:
            return
        claim, since = Claim(), 0.0
        try:
            claim, since = await self._queue.claim(taken, idle=not self._tasks)
        except NewerStore as error:
            self._leave(error)
        finally:
            for _ in range(taken - len(claim.begun)):
                self._places.release()
        self._apart |= {queued.run: None for queued in claim.apart}
        for queued, attempt in claim.begun:
            running = self._executor.execute_begun(queued, attempt, since, self._places)
            self._watch(queued, running)
        for queued in claim.singly:
            if queued not in self._tasks.values():
                self._start(queued)

    def _start(self, queued: Queued) -> None:
        """Begin and execute a Run."""
        self._watch(queued, self._executor.execute_one(queued, self._places))

    def _watch(self, queued: Queued, executing: Coroutine[Any, Any, bool]) -> None:
        task = asyncio.ensure_future(executing)
        task.add_done_callback(lambda _: self._woken.set())
        self._tasks[task] = queued

    async def _wait(self) -> None:
        """Wait until a Run ends, or it is time to look at the queue."""
        # A Run that gives its place up for a time tells nobody; to count places costs nothing.
        seconds = self._queue.patience if self._room() > 0 else POLL
        timer = asyncio.get_running_loop().call_later(seconds, self._woken.set)
        await self._woken.wait()
        timer.cancel()
        self._woken.clear()
        self._end_done()

    def _end_done(self) -> None:
        """Let go of the Runs that have ended."""
        for task in [task for task in self._tasks if task.done()]:
            self._end(task)

    def _end(self, task: asyncio.Task[bool]) -> None:
        """Let go of a task that has ended, and say what went wrong with it."""
        queued = self._tasks.pop(task)
        # Its site is free now. Who queued a Run just before may have found it taken.
        self._queue.look_again()
        error = self._executor.errors.pop(queued.run, None) or task.exception()
        if error is not None or task.result():
            self._executed += 1
            self._clean_up()
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
    store = Store(settings.database_url, listen_url=settings.listen_url)
    alone = None
    if words[-2:-1] == [ALONE]:
        alone = runs.next_beside(store, RunId(ids.raw_id(words[-1])))
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
        worker = Worker(executor, RunQueue(executor, store.calls()), settings.crawler_memory)
        engine.run(worker.work(alone))
    end_process(0, engine)
