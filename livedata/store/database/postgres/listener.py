"""The calls to the queue as a crawl worker hears them."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.sql import SQL, Identifier

from livedata.store.database.postgres.transaction import CHANNEL

AGAIN, LONGEST = 1.0, 3.0
"""The seconds after which a server that is away is tried again, and those after many times; more or
less by half."""
COUNT = 60.0
"""The seconds after which all who hear calls are counted again."""
EACH_HAS = 2
"""The connections of one of them."""
log = logging.getLogger("livedata.store")
_CONNECTED = "SELECT numbackends FROM pg_stat_database WHERE datname = current_database()"


# Through a pooler the calls would come to connections of others.
_POOLED = (
    "LIVEDATA_DATABASE_URL leads to a pooler, through which no calls are heard: a Run that is "
    "queued begins up to 10 seconds later. Name the server itself with LIVEDATA_LISTEN_URL."
)


class Listener:
    """The calls to one crawl worker, on a connection of its own.

    It `is_named` if somebody has said that calls are heard there, also through a pooler.
    """

    def __init__(self, parameters: dict[str, Any], *, is_named: bool) -> None:
        self._parameters = parameters
        self._is_named = is_named
        self._heard = False
        self._connected = 0

    @property
    def listeners(self) -> int:
        """About how many workers hear the same calls: no fewer, for others are connected too."""
        return max(1, self._connected // EACH_HAS)

    @property
    def heard(self) -> bool:
        """Whether calls are heard, or never will be."""
        return self._heard

    async def listen(self, ring: Callable[[], object]) -> None:
        """Call `ring` at each call, and when none will be heard any more; until cancelled."""
        task = asyncio.current_task()
        assert task is not None
        # Asked too, for a question that is cancelled may fail in its own way instead.
        pause = AGAIN
        while not task.cancelling():
            began = time.monotonic()
            with suppress(psycopg.Error):
                await self._hear(ring)
            # Not all at once: a server that was started again has its hands full.
            pause = AGAIN if time.monotonic() - began > COUNT else min(LONGEST, pause * 1.5)
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311  (no secret)

    async def _hear(self, ring: Callable[[], object]) -> None:
        async with await AsyncConnection.connect(**self._parameters, autocommit=True) as driver:
            if not self._is_named and await is_pooled(driver):
                await driver.close()
                log.warning("%s", _POOLED, extra={"event": "calls.pooled"})
                self._heard = True
                await asyncio.Event().wait()
            await driver.execute(SQL("LISTEN {}").format(Identifier(CHANNEL)))
            schema = await (await driver.execute("SELECT current_schema()")).fetchone()
            assert schema is not None
            self._heard = True
            try:
                while True:
                    connected = await (await driver.execute(_CONNECTED)).fetchone()
                    self._connected = connected[0] if connected else 0
                    # What came before, or beside the answer, is there without a call.
                    ring()
                    with suppress(TimeoutError):
                        async with asyncio.timeout(COUNT):
                            await _each_call(driver, schema[0].encode(), ring)
            finally:
                self._heard = False
                ring()


async def is_pooled(driver: AsyncConnection[Any]) -> bool:
    """Whether another process answers than the one that the connection was made with."""
    row = await (await driver.execute("SELECT pg_backend_pid()")).fetchone()
    return row != (driver.info.backend_pid,)


async def _each_call(
    driver: AsyncConnection[Any], schema: bytes, ring: Callable[[], object]
) -> None:
    """Call `ring` at each call that means a schema; until cancelled."""
    while True:
        await _readable(driver.fileno())
        if _called(driver, schema):
            ring()


def _called(driver: AsyncConnection[Any], schema: bytes) -> bool:
    """Whether any call has come that means a schema. Raises OperationalError at the end."""
    # Not by the notifies of psycopg, which wakes up ten times a second while it waits for one:
    # that is half of all that an idle worker does.
    driver.pgconn.consume_input()
    called = False
    while (call := driver.pgconn.notifies()) is not None:
        called = called or call.extra == schema
    return called


async def _readable(file: int) -> None:
    """Wait until there is something to read, also if that is the end."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(file, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(file)
