"""What tests of notices share: a table, the clock, and notices that are added with few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from livedata.model.ids import format_uuid
from livedata.rules.declaration.notices import KINDS
from livedata.services.notices import subscriptions
from livedata.store.database.store import Store
from livedata.store.notices import Notice, Subscription
from tests.services.conftest import SetClock, clock, set_clock, step
from tests.services.table import Table

__all__ = ["SetClock", "clock", "set_clock", "step"]
Notify = Callable[..., Notice]
Told = tuple[str, str]


@pytest.fixture
def table(store: Store) -> Table:
    """A dataset without rows."""
    return Table(store)


@pytest.fixture
def notify(store: Store) -> Notify:
    """Add a notice of all kinds, or of some, to `local`."""

    def add(name: str = "ops", owner: str = "local", **wish: Any) -> Notice:
        return add_notice(store, name, owner, **wish)

    return add


def add_notice(store: Store, name: str = "ops", owner: str = "local", **wish: Any) -> Notice:
    """Add a notice; what is not said of it is usual."""
    usual = Subscription(name, "command", "cat", KINDS, None, 2, None)
    if "datasets" in wish:
        wish["datasets"] = [format_uuid(dataset) for dataset in wish["datasets"]]
    return subscriptions.add(store, owner, replace(usual, **wish), first_credits=1000)


def told(store: Store, notice: Notice | None = None) -> Sequence[Told]:
    """(kind, sentence) of all in the outbox, in order; of one notice, or of all."""
    with store.reading() as reader:
        rows = reader.rows(
            "SELECT n.name, o.kind, o.data FROM outbox o JOIN notices n ON n.id = o.notice_id "
            "ORDER BY n.name, o.dataset_id, o.sequence"
        )
    return [
        (kind, data.partition('"sentence":"')[2].partition('"')[0])
        for name, kind, data in rows
        if notice is None or name == notice.name
    ]


def kinds_told(store: Store, notice: Notice | None = None) -> list[str]:
    """The kinds of all in the outbox, in order."""
    return [kind for kind, _ in told(store, notice)]
