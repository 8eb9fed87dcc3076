"""How long a Run may go on: until it has all it wants, is cancelled, or has taken too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Deadline:
    """Once it is `over`, nothing is asked any more, and what is under way is given up."""

    def __init__(self, cancel: asyncio.Event, seconds: float) -> None:
        self.seconds = self._left = seconds
        self._since = 0.0
        self.over = asyncio.Event()
        self._cancel = cancel
        self._watch: asyncio.Task[None] | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody ended the Run."""
        return self._cancel.is_set()

    def begin(self) -> None:
        """From now on the time counts."""
        self._since = time.monotonic()
        self._watch = asyncio.ensure_future(self._run_out())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The time does not count meanwhile; somebody else has to look out for `cancelled`."""
        self._left -= time.monotonic() - self._since
        if self._watch is not None:
            self._watch.cancel()
        try:
            yield
        finally:
            self.begin()

    def end(self) -> None:
        """The Run has all it wants."""
        self.over.set()
        if self._watch is not None:
            self._watch.cancel()

    async def _run_out(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._cancel.wait(), self._left)
        self.over.set()
