"""The jobs of procrastinate as a crawl worker hears of them and takes them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Status
from procrastinate.manager import JobManager
from psycopg.sql import SQL, Identifier
from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

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
            app = App(connector=_Connector(self._parameters, lambda: self._begin(app)))
            await app.open_async(pool)
            try:
                await app.job_manager.listen_for_jobs(on_notification=self._ring, queues=[QUEUE])
            finally:
                await self._leave()

    def _begin(self, app: App) -> None:
        self._manager = app.job_manager
        # What came before is there without a notice.
        self._rung.set()

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


class _Connector(PsycopgConnector):
    """The connections of procrastinate; the one that listens sleeps until there is something."""

    def __init__(self, parameters: dict[str, Any], listening: Callable[[], None]) -> None:
        super().__init__()
        self._parameters = parameters
        self._listening = listening

    @override
    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        """Tell of each notification. Raises psycopg.Error if the server is gone."""
        # psycopg wakes up ten times a second while it waits for one, which is half of all that an
        # idle worker does.
        async with await psycopg.AsyncConnection.connect(
            **self._parameters, autocommit=True
        ) as driver:
            for channel in channels:
                await driver.execute(SQL("LISTEN {}").format(Identifier(channel)))
            self._listening()
            while True:
                while notice := driver.pgconn.notifies():
                    await on_notification(
                        channel=notice.relname.decode(), payload=notice.extra.decode()
                    )
                await _readable(driver.fileno())
                driver.pgconn.consume_input()


async def _readable(file: int) -> None:
    """Wait until there is something to read, also if that is the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(file, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file)


async def _write_at_once(driver: psycopg.AsyncConnection[Any]) -> None:
    await driver.set_autocommit(True)
