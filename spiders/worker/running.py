"""A Run that this process executes, and what it tells of its progress."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from livedata.model.harvest import PageRead
from livedata.services.attempts import Attempt
from livedata.services.runs import Queued
from livedata.store.shown_runs import Progress

if TYPE_CHECKING:
    # Runs of selectors do not pay for the import.
    from livedata.model.research.record import ResearchStep


# Four beats in a lease of a minute: a store that is away for a moment costs no Run.
HEARTBEAT = 15.0


class Stage(Enum):
    """What a Run is at when it reads no page."""

    WAITING = "waiting"
    STARTING_RESEARCH = "starting research"
    ENDED = "ended"


OnProgress: TypeAlias = "Callable[[Queued, PageRead | ResearchStep | Stage], None]"
"""Told of each page or step of a Run, while it waits for its turn, and when it has ended."""


class Running(Struct):
    """An attempt that is being executed, what ends it, and how far it has come.

    `told` is how far it had come when its lease was renewed last, at `beaten`.
    """

    attempt: Attempt
    cancel: asyncio.Event = field(default_factory=asyncio.Event)
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
