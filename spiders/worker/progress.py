"""What a Run is at, as it is told to whoever executes it."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from livedata.model.harvest import PageRead
from livedata.services.runs import Queued

if TYPE_CHECKING:
    # Runs of selectors do not pay for the import.
    from livedata.model.research.record import ResearchStep


class Stage(Enum):
    """What a Run is at when it reads no page."""

    WAITING = "waiting"
    STARTING_RESEARCH = "starting research"
    ENDED = "ended"


Progress: TypeAlias = "Callable[[Queued, PageRead | ResearchStep | Stage], None]"
"""Told of each page or step of a Run, while it waits for its turn, and when it has ended."""
