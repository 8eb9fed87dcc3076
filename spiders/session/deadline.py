"""How long a Run may take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Deadline:
    """The end of a Run's time; once it is `over`, no request starts and running ones are cancelled.

    It is over after so many seconds, as soon as `cancel` is set, or when the Run has all it wants.
    """

    def __init__(self, cancel: asyncio.Event, seconds: float) -> None:
        self.seconds = self._left = seconds
        self._since = 0.0
        self.over = asyncio.Event()
        self._cancel = cancel
        self._watch: asyncio.Task[None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled the Run."""
        return self._cancel.is_set()

    def begin(self) -> None:
        """Count the time from now on."""
        self._since = time.monotonic()
        self._watch = asyncio.ensure_future(self._run_out())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock meanwhile; the caller has to watch for `cancelled` itself."""
        # A timer cannot be stopped for a while: a new watch begins later with what is left.
        self._left -= time.monotonic() - self._since
        if self._watch is not None:
            self._watch.cancel()
        try:
            yield
        finally:
            self.begin()

    async def late(self, seconds: float) -> None:
        """Wait until so long after it was over."""
        await self.over.wait()
        await asyncio.sleep(seconds)

    async def cancelled_within(self, seconds: float) -> None:
        """Wait for so long, or until somebody cancels the Run."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cancel.wait(), seconds)

    def end(self) -> None:
        """The Run has all it wants."""
        self.over.set()
        if self._watch is not None:
            self._watch.cancel()

    async def _run_out(self) -> None:
        await self.cancelled_within(self._left)
        self.over.set()
