"""The loop of a worker: when it wakes up, and what ends the process if it stands still."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def until_next(period: float) -> float:
    """The seconds until the next moment of a period in this process.

    What is done every second happens in the wake-up of what is done four times a second.
    """
    # Each process has moments of its own: workers that all look at the queue at once would all
    # begin the same Run.
    phase = os.getpid() % 97 / 97
    return period - (time.monotonic() + phase) % period


def around(seconds: float) -> float:
    """So many seconds, more or less by half: not all come at once to a server that is back."""
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311  (no secret)


STANDSTILL = 60.0
"""The seconds of CPU time in which the loop must have its turn, or the kernel ends the process."""
STEP = 5.0


@asynccontextmanager
async def watched() -> AsyncIterator[None]:
    """End the process meanwhile once its loop has had no turn for so long."""
    showing = asyncio.ensure_future(_show_life())
    try:
        yield
    finally:
        showing.cancel()
        signal.setitimer(signal.ITIMER_PROF, 0)


async def _show_life() -> None:
    # Nothing in this process can end it while a page holds Python: a pattern that is tried for
    # hours, a parser that does not come back. CPU time, so that a process that is suspended, or
    # waits for a terminal, does not count as one that stands still.
    while True:
        signal.setitimer(signal.ITIMER_PROF, STANDSTILL)
        await asyncio.sleep(until_next(STEP))
