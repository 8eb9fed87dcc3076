"""What tests of the services share: a table of three columns and a key, and the clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.store.database.postgres.transaction import PostgresTransaction
from livedata.store.database.store import Store
from tests.services.table import Table


@pytest.fixture
def table(store: Store) -> Table:
    """A dataset without rows."""
    return Table(store)


Clock = Callable[[int], None]
SetClock = Callable[[Callable[[], Micros]], None]


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Set the wall clock of this machine, and of the server on it."""

    def set_to(clock: Callable[[], Micros]) -> None:
        monkeypatch.setattr(ids, "now", clock)
        monkeypatch.setattr(PostgresTransaction, "now", lambda _transaction: clock())

    return set_to


@pytest.fixture
def step(set_clock: SetClock) -> Clock:
    """Set the wall clock so many seconds ahead of the true time, or behind it."""
    truly = ids.now

    def move(seconds: int) -> None:
        set_clock(lambda: Micros(truly() + seconds * 1_000_000))

    return move


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, step: Clock) -> Clock:
    """Let so many seconds pass, on every clock."""
    truly = ids.ticks

    def move(seconds: int) -> None:
        step(seconds)
        monkeypatch.setattr(ids, "ticks", lambda: truly() + seconds * 1_000_000)

    return move
