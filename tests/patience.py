"""How long tests wait: the machine may be slow, and busy with others."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

AT_ONCE = 5.0
"""Seconds within which a thing is done that waits for nothing. What it would wait for, if it did,
takes `LONG` or more."""
LONG = 20.0
"""Seconds that nothing waits for if it does what it should."""


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until something holds; fail if that takes longer."""
    end, pause = time.monotonic() + seconds, Event()
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        pause.wait(0.02)
