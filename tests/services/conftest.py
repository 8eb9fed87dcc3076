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


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Move the clock by so many seconds from now on."""
    truly = ids.now

    def move(seconds: int) -> None:
        monkeypatch.setattr(ids, "now", lambda: truly() + seconds * 1_000_000)

    return move
