"""How many statements a Run takes, and how often it waits for a server."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing

import pytest
from msgspec import Struct

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId, RunId
from livedata.model.requests import UpdateDataset
from livedata.services import attempts, datasets, runs, scheduler
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from livedata.store.shown_runs import Progress
from tests import made
from tests.databases import POSTGRES
from tests.notices.conftest import add_notice
from tests.relay import Relay

NATURAL = StopReason("natural_end")
BROKEN = StopReason("page_failed", made.BROKEN)
MOST_WAITS = 41
MOST_STATEMENTS = 80


class Counted(Struct):
    """A store whose statements are counted, and the waits for its server."""

    store: Store
    forget: Callable[[], None]
    statements: Callable[[], int]
    waits: Callable[[], int]


@pytest.fixture
def counted(store: Store, database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """The store of the test."""
    if database == POSTGRES:
        with Relay(store.url) as relay, closing(Store(relay.url)) as other:
            yield Counted(other, relay.forget, lambda: relay.statements, lambda: relay.waits)
        return
    said: list[str] = []
    connect = sqlite3.connect

    def traced(*arguments: object, **named: object) -> sqlite3.Connection:
        driver: sqlite3.Connection = connect(*arguments, **named)  # type: ignore[call-overload]
        driver.set_trace_callback(said.append)
        return driver

    monkeypatch.setattr(sqlite3, "connect", traced)
    with closing(Store(store.url)) as other:
        yield Counted(other, said.clear, lambda: len(said), lambda: 0)


def execute(store: Store, run: RunId, prices: Sequence[int], ending: StopReason = NATURAL) -> str:
    """All that a worker does of a Run, which finds its items at these prices."""
    ((_, attempt),) = attempts.claim(store, 1).begun
    assert attempt.run == run
    attempts.heartbeat(store, attempt, Progress(1, len(prices)))
    items = [{**item, "price": price} for item, price in zip(made.ITEMS, prices, strict=False)]
    harvest = made.harvest(attempt.recipe, items, ending)
    return attempts.finish(store, attempt, harvest, AcceptancePolicy())


def asked(store: Store, dataset: DatasetId) -> RunId:
    """A Run that somebody asks for."""
    return RunId(ids.raw_id(runs.enqueue(store, "local", dataset)[0]))


def fired(store: Store, _dataset: DatasetId) -> RunId:
    """A Run whose time has come."""
    (fire,) = scheduler.tick(store, "UTC")
    assert fire.queued is not None
    return fire.queued.run


def schedule(store: Store, dataset: DatasetId) -> None:
    """Let a dataset fire, and tell of all."""
    active = read(UpdateDataset, {"status": "active", "schedule": "0 6 * * *"})
    datasets.update(store, "local", dataset, active)
    add_notice(store)


@pytest.mark.parametrize(
    ("prices", "ending", "status"),
    [
        pytest.param([1, 2, 3], NATURAL, "succeeded", id="unchanged"),
        pytest.param([1, 2, 4], NATURAL, "succeeded", id="changed"),
        pytest.param([], BROKEN, "failed", id="failed"),
    ],
)
@pytest.mark.parametrize("queue", [asked, fired])
def test_a_run_takes_few_statements_and_waits(
    counted: Counted,
    queue: Callable[[Store, DatasetId], RunId],
    prices: Sequence[int],
    ending: StopReason,
    status: str,
) -> None:
    store = counted.store
    dataset = made.make_dataset(store)
    if queue is fired:
        schedule(store, dataset)
    # As often as a statement is asked before a server keeps it prepared.
    for _ in range(8):
        execute(store, asked(store, dataset), [1, 2, 3])
    if queue is fired:
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = 1")
    counted.forget()

    assert execute(store, queue(store, dataset), prices, ending) == status

    assert counted.statements() <= MOST_STATEMENTS
    assert counted.waits() <= MOST_WAITS
