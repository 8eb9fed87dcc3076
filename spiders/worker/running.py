"""A Run that this process executes, and what it tells of its progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, field
from typing_extensions import override

from livedata.model.errors import LostLease
from livedata.model.harvest import PageRead
from livedata.services.attempts import Attempt
from livedata.services.runs import Queued
from livedata.store import queue
from livedata.store.shown_runs import Progress

if TYPE_CHECKING:
    # Runs of selectors do not pay for the import.
    from livedata.model.research.record import ResearchStep


# Four beats in a lease of a minute: a store that is away for a moment costs no Run.
HEARTBEAT = 15.0
MARGIN = 5.0
"""So many seconds before its lease is over an attempt ends: what is under way is to end before."""
LAPSED = (
    "The store could not be reached until the lease of this Run was nearly over, so the Run was "
    "stopped and nothing was written: it goes back into the queue."
)
# Of Linux: the time in which a machine sleeps counts, as it does for a server that goes on.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
_Answer = TypeVar("_Answer")


def clock() -> float:
    """The seconds of this machine's own clock, which nobody sets."""
    return time.clock_gettime(_CLOCK)


class Stage(Enum):
    """What a Run is at when it reads no page."""

    WAITING = "waiting"
    STARTING_RESEARCH = "starting research"
    ENDED = "ended"


OnProgress: TypeAlias = "Callable[[Queued, PageRead | ResearchStep | Stage], None]"
"""Told of each page or step of a Run, while it waits for its turn, and when it has ended."""


class Ending(asyncio.Event):
    """Set once an attempt is to end: somebody wants it, or its lease is over by the clock here.

    Another process may begin the Run then, so nothing more is asked of a site.
    """

    def __init__(self, since: float) -> None:
        super().__init__()
        self._lapse = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self.renew(since)

    def renew(self, since: float) -> None:
        """The lease was taken or renewed, no earlier than at a moment of :func:`clock`."""
        self._until = since + queue.LEASE / 1e6 - MARGIN
        if self._timer is None:
            self._watch()

    @property
    def lapsed(self) -> bool:
        """Whether the attempt ends since its lease is over: then it writes nothing more either."""
        # Looked at and not only waited for: a process that stood still goes on with what it was at.
        if not self._lapse.is_set() and clock() >= self._until:
            self._lapse.set()
            self.set()
        return self._lapse.is_set()

    @override
    def is_set(self) -> bool:
        """Whether the attempt is to end."""
        return self.lapsed or super().is_set()

    def stop_watching(self) -> None:
        """The attempt has ended."""
        if self._timer is not None:
            self._timer.cancel()

    async def within(self, asking: Awaitable[_Answer]) -> _Answer:
        """What the store answers. Raises LostLease once the lease is over: it may stand still."""
        answer, lapse = asyncio.ensure_future(asking), asyncio.ensure_future(self._lapse.wait())
        try:
            await asyncio.wait({answer, lapse}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                raise LostLease(LAPSED)
            return answer.result()
        finally:
            answer.cancel()
            lapse.cancel()

    def _watch(self) -> None:
        # Once a lease and not each second: a renewal only moves the moment to which it looks.
        if not self.lapsed:
            left = self._until - clock()
            self._timer = asyncio.get_running_loop().call_later(left, self._watch)

    def raise_if_lapsed(self) -> None:
        """Raise LostLease if the lease is over."""
        if self.lapsed:
            raise LostLease(LAPSED)


class Running(Struct):
    """An attempt that is being executed, what ends it, and how far it has come.

    `told` is how far it had come when its lease was renewed last, at `beaten`.
    """

    attempt: Attempt
    cancel: Ending
    so_far: Progress = Progress(0, 0)
    told: Progress = Progress(0, 0)
    beaten: float = field(default_factory=time.monotonic)

    def include(self, page: PageRead) -> None:
        """Count a page that was read."""
        self.so_far = Progress(self.so_far.pages + 1, self.so_far.items + len(page.records))

    @property
    def has_news(self) -> bool:
        """Whether its lease is to be renewed, or others do not know how far it has come."""
        return self.so_far != self.told or time.monotonic() - self.beaten >= HEARTBEAT

    def beat(self) -> Progress:
        """Note that it is told now how far it has come, and return that."""
        self.told, self.beaten = self.so_far, time.monotonic()
        return self.told
