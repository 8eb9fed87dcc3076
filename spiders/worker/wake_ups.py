"""The moments at which an idle worker wakes up: each costs more than what is done in it."""

from __future__ import annotations

import os
import time


def until_next(period: float) -> float:
    """The seconds until the next moment of a period in this process.

    What is done every second happens in the wake-up of what is done four times a second.
    """
    # Each process has moments of its own: workers that all look at the queue at once would all
    # begin the same Run.
    phase = os.getpid() % 97 / 97
    return period - (time.monotonic() + phase) % period
