"""Ends this process if its loop stands still: by the kernel, for nothing here could."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from spiders.worker.wake_ups import until_next

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
