"""What a crawl worker may start next: what jobs call for, and what it finds in the queue."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from msgspec import Struct

from livedata.model.errors import StoreUnavailable
from livedata.services import interruptions, runs
from livedata.services.runs import Queued
from livedata.store.database.backend import Job, Jobs
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
