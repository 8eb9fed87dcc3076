"""The jobs of procrastinate as a crawl worker hears of them and takes them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from typing import Any

import psycopg
from msgspec import DecodeError, Struct, json
from procrastinate.jobs import Status
from procrastinate.manager import get_channel_for_queues
from procrastinate.sql import queries
from psycopg import Connection, Cursor
from psycopg.rows import DictRow, dict_row
from psycopg.sql import SQL, Identifier
from psycopg.types.json import set_json_loads

from livedata.model import ids
from livedata.model.ids import RunId
from livedata.store.database.backend import Job
from livedata.store.database.postgres.jobs import QUEUE, TASK

AGAIN = 1.0
"""The seconds after which a server that is away is tried again."""
SILENT = 30.0
"""The seconds without a sweep after which a worker counts as gone."""
LEAVING = 2.0


class Listener:
    """The jobs that call one crawl worker; procrastinate knows it as one of its workers."""

    # Not procrastinate's own worker: how many Runs this one may start changes while it works, for
    # some are to run alone and others rest until a site is free. So it asks for each job itself;
    # and not by asyncio, in which a question takes three times the CPU.
    def __init__(self, parameters: dict[str, Any]) -> None:
        self._parameters = parameters
        self._heard = False
        self._worker: int | None = None
        self._cursor: Cursor[DictRow] | None = None

    @property
    def heard(self) -> bool:
        """Whether jobs are heard of."""
        return self._heard

    async def listen(self, ring: Callable[[], object]) -> None:
        """Call `ring` when a job has come, or none will be heard of any more; until cancelled."""
        task = asyncio.current_task()
        assert task is not None
        # Asked too, for a question that is cancelled may fail in its own way instead.
        while not task.cancelling():
            with suppress(psycopg.Error):
                await self._hear(ring)
            await asyncio.sleep(AGAIN)

    def take(self) -> Job | None:
        """A job that nobody else has; no second one of its site until it is done."""
        if not self._heard:
            return None
        try:
            if self._worker is None:
                (row,) = self._ask("register_worker")
                self._worker = row["worker_id"]
            (row,) = self._ask("fetch_job", queues=[QUEUE], worker_id=self._worker)
        except psycopg.Error:
            self._forget_worker()
            return None
        # It always answers with a row, which is empty if there is no job.
        return None if row["id"] is None else Job(row["id"], _run_of(row), row["task_name"])

    def finish(self, job: Job) -> None:
        """Let go of a job: its Run has begun, or need not begin now."""
        if self._heard:
            self._delete(job.id)

    def sweep(self) -> None:
        """Say that this worker lives, and let go of the jobs of workers that do not."""
        if not self._heard:
            return
        try:
            if self._worker is not None:
                self._ask("update_heartbeat", worker_id=self._worker)
            self._ask("prune_stalled_workers", seconds_since_heartbeat=SILENT)
            stalled = self._ask(
                "select_stalled_jobs_by_heartbeat",
                queue=QUEUE,
                task_name=None,
                seconds_since_heartbeat=SILENT,
            )
        except psycopg.Error:
            self._forget_worker()
            return
        # Never tried again: its Run gets a new job if it may start.
        for job in stalled:
            self._delete(job["id"])

    async def _hear(self, ring: Callable[[], object]) -> None:
        # Not by the notifies of psycopg, which wakes up ten times a second while it waits for one:
        # that is half of all that an idle worker does.
        async with await psycopg.AsyncConnection.connect(
            **self._parameters, autocommit=True
        ) as driver:
            for channel in get_channel_for_queues([QUEUE]):
                await driver.execute(SQL("LISTEN {}").format(Identifier(channel)))
            self._heard = True
            try:
                # At first too: what came before is there without a notice.
                ring()
                while True:
                    await _readable(driver.fileno())
                    driver.pgconn.consume_input()
                    while driver.pgconn.notifies():
                        ring()
            finally:
                self._heard = False
                ring()
                # Others may have at once what this worker leaves behind.
                with suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.to_thread(self._leave), LEAVING)

    def _leave(self) -> None:
        worker, self._worker = self._worker, None
        cursor, self._cursor = self._cursor, None
        if cursor is None:
            return
        with closing(cursor.connection), suppress(psycopg.Error):
            if worker is not None:
                cursor.execute(queries["unregister_worker"], {"worker_id": worker})

    def _delete(self, job: int) -> None:
        try:
            self._ask("finish_job", job_id=job, status=Status.SUCCEEDED.value, delete_job=True)
        except psycopg.errors.RaiseException:
            pass  # somebody else has swept it, or emptied the table: there is nothing left to do
        except psycopg.Error:
            self._forget_worker()

    def _ask(self, query: str, **values: object) -> Iterable[DictRow]:
        """What procrastinate's own query of that name answers."""
        if self._cursor is None or self._cursor.connection.closed:
            # One for all questions: to make a cursor costs as much as to ask.
            connection = Connection.connect(
                **self._parameters, autocommit=True, row_factory=dict_row
            )
            # Read here and not by psycopg, which raises for what is nested too deep.
            set_json_loads(lambda text: text, connection)
            self._cursor = connection.cursor()
        return self._cursor.execute(queries[query], values).fetchall()

    def _forget_worker(self) -> None:
        # A job that was taken and not let go of goes with its worker: as another one this process
        # tells no more that the old one lives.
        self._worker = None


class _Arguments(Struct):
    """What a job of ours says."""

    run: str


def _run_of(row: DictRow) -> RunId | None:
    """The Run that a job calls for; None if it is not ours to understand."""
    if row["task_name"] != TASK:
        return None
    # Whoever may write to the database may write whatever JSON has.
    with suppress(DecodeError, ValueError, RecursionError):
        return RunId(ids.raw_id(json.decode(row["args"], type=_Arguments).run))
    return None


async def _readable(file: int) -> None:
    """Wait until there is something to read, also if that is the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(file, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file)
