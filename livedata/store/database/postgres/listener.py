"""The jobs of procrastinate as a crawl worker hears of them and takes them."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from psycopg_pool import AsyncConnectionPool

from livedata.model import ids
from livedata.model.ids import RunId
from livedata.store.database.backend import Job
from livedata.store.database.postgres.jobs import QUEUE

AGAIN = 1.0
"""The seconds after which a server that is away is tried again."""
SILENT = 30.0
"""The seconds without a sweep after which a worker counts as gone."""
LEAVING = 2.0
_AWAY = (ConnectorException, psycopg.Error)


class Listener:
    """The jobs that call one crawl worker; procrastinate knows it as one of its workers."""

    # Not procrastinate's own worker: how many Runs this one may start changes while it works, for
    # some are to run alone and others rest until a site is free. So it asks for each job itself.
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters
        self._manager: JobManager | None = None
        self._worker: int | None = None
        self._rung = asyncio.Event()

    @property
    def rung(self) -> asyncio.Event:
        """Set when a job has come, or none will be heard of any more."""
        return self._rung

    @property
    def heard(self) -> bool:
        """Whether jobs are heard of."""
        return self._manager is not None

    async def listen(self) -> None:
        """Hear of jobs until this is cancelled."""
        # The pool tells of each attempt to connect; that the store is away is told elsewhere, once.
        logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)
        task = asyncio.current_task()
        assert task is not None
        # Asked too, for a question that is cancelled may fail in its own way instead.
        while not task.cancelling():
            with suppress(*_AWAY):
                await self._hear()
            await asyncio.sleep(AGAIN)

    async def take(self) -> Job | None:
        """A job that nobody else has; no second one of its site until it is done."""
        if self._manager is None:
            return None
        try:
            if self._worker is None:
                self._worker = await self._manager.register_worker()
            job = await self._manager.fetch_job([QUEUE], self._worker)
        except _AWAY:
            self._forget_worker()
            return None
        if job is None or job.id is None:
            return None
        return Job(job.id, RunId(ids.raw_id(str(job.task_kwargs["run"]))))

    async def finish(self, job: Job) -> None:
        """Let go of a job: its Run has begun, or need not begin now."""
        await self._delete(job.id)

    async def sweep(self) -> None:
        """Say that this worker lives, and let go of the jobs of workers that do not."""
        if self._manager is None:
            return
        try:
            if self._worker is not None:
                await self._manager.update_heartbeat(self._worker)
            await self._manager.prune_stalled_workers(SILENT)
            stalled = await self._manager.get_stalled_jobs(queue=QUEUE)
        except _AWAY:
            self._forget_worker()
            return
        # Never tried again: its Run gets a new job if it may start.
        for job in stalled:
            if job.id is not None:
                await self._delete(job.id)

    async def _hear(self) -> None:
        async with AsyncConnectionPool(
            kwargs=self._parameters,
            min_size=1,
            max_size=1,
            open=False,
            timeout=self._parameters["connect_timeout"],
            num_workers=1,
            configure=_write_at_once,
        ) as pool:
            app = App(connector=PsycopgConnector())
            await app.open_async(pool)
            self._manager = app.job_manager
            # What came before is there without a notice.
            self._rung.set()
            try:
                await self._manager.listen_for_jobs(on_notification=self._ring, queues=[QUEUE])
            finally:
                await self._leave()

    async def _ring(self, **_: object) -> None:
        self._rung.set()

    async def _leave(self) -> None:
        """Let others have what this worker leaves behind at once."""
        manager, self._manager = self._manager, None
        self._rung.set()
        if manager is not None and self._worker is not None:
            worker, self._worker = self._worker, None
            with suppress(*_AWAY, TimeoutError):
                await asyncio.wait_for(manager.unregister_worker(worker), LEAVING)

    async def _delete(self, job: int) -> None:
        if self._manager is None:
            return
        try:
            await self._manager.finish_job_by_id_async(job, Status.SUCCEEDED, delete_job=True)
        except _AWAY as error:
            # Somebody else has swept it, or emptied the table: then there is nothing left to do.
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                self._forget_worker()

    def _forget_worker(self) -> None:
        # A job that was taken and not let go of goes with its worker: as another one this process
        # tells no more that the old one lives.
        self._worker = None


async def _write_at_once(driver: psycopg.AsyncConnection[Any]) -> None:
    await driver.set_autocommit(True)
