"""What tests of the services share: a table of three columns and a key, and the clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model import ids
from livedata.store.database.store import Store
from tests.services.table import Table


@pytest.fixture
def table(store: Store) -> Table:
    """A dataset without rows."""
    return Table(store)


Clock = Callable[[int], None]


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Set the wall clock so many seconds ahead of the true time, or behind it."""
    truly = ids.now

    def move(seconds: int) -> None:
        monkeypatch.setattr(ids, "now", lambda: truly() + seconds * 1_000_000)

    return move


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, step: Clock) -> Clock:
    """Let so many seconds pass, on every clock."""
    truly = ids.ticks

    def move(seconds: int) -> None:
        step(seconds)
        monkeypatch.setattr(ids, "ticks", lambda: truly() + seconds * 1_000_000)

    return move
