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
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.requests import UpdateDataset
from livedata.services import attempts, datasets, runs, scheduler
from livedata.services.commit import AcceptancePolicy
from livedata.services.pages.search import search
from livedata.store.database.store import Store
from livedata.store.shown_runs import Progress
from tests import made
from tests.databases import POSTGRES
from tests.notices.conftest import add_notice
from tests.relay import Relay
from tests.services.table import Item

NATURAL = StopReason("natural_end")
BROKEN = StopReason("page_failed", made.BROKEN)
MOST_TO_QUEUE = 9, 4
"""(statements, waits) of what queues a Run."""
MOST_TO_EXECUTE = 31, 9
"""The same of what a worker does of it: it is claimed, begun, renewed once, and concluded."""


class Counted(Struct):
    """A store whose statements are counted, and the waits for its server."""

    store: Store
    forget: Callable[[], None]
    statements: Callable[[], int]
    waits: Callable[[], int]

    def assert_few(self, statements: int, waits: int) -> None:
        """Assert that no more were taken since all was forgotten."""
        assert self.statements() <= statements
        assert self.waits() <= waits
        self.forget()


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


def execute(store: Store, run: RunId, items: Sequence[Item], ending: StopReason = NATURAL) -> str:
    """All that a worker does of a Run, which finds these items."""
    ((_, attempt),) = attempts.claim(store, 1).begun
    assert attempt.run == run
    attempts.heartbeat(store, attempt, Progress(1, len(items)))
    harvest = made.harvest(attempt.recipe, items, ending)
    return attempts.finish(store, attempt, harvest, AcceptancePolicy())


def at(*prices: int) -> list[Item]:
    """The first items at these prices."""
    return [{**item, "price": price} for item, price in zip(made.ITEMS, prices, strict=False)]


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
    ("items", "ending", "status"),
    [
        pytest.param(at(1, 2, 3), NATURAL, "succeeded", id="unchanged"),
        pytest.param(at(1, 2, 4), NATURAL, "succeeded", id="changed"),
        pytest.param(at(), BROKEN, "failed", id="failed"),
    ],
)
@pytest.mark.parametrize("queue", [asked, fired])
def test_a_run_takes_few_statements_and_waits(
    counted: Counted,
    queue: Callable[[Store, DatasetId], RunId],
    items: Sequence[Item],
    ending: StopReason,
    status: str,
) -> None:
    store = counted.store
    dataset = made.make_dataset(store)
    if queue is fired:
        schedule(store, dataset)
    # As often as a statement is asked before a server keeps it prepared.
    for _ in range(8):
        execute(store, asked(store, dataset), at(1, 2, 3))
    if queue is fired:
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = 1")
    counted.forget()

    run = queue(store, dataset)
    counted.assert_few(*MOST_TO_QUEUE)
    assert execute(store, run, items, ending) == status
    counted.assert_few(*MOST_TO_EXECUTE)


def test_a_run_of_many_rows_that_are_unchanged_takes_hardly_more(counted: Counted) -> None:
    store = counted.store
    items: list[Item] = [{"sku": f"K{number}", "price": number} for number in range(600)]
    dataset = made.make_dataset(store)
    for _ in range(8):
        execute(store, asked(store, dataset), items)
    run = asked(store, dataset)
    counted.forget()
    assert execute(store, run, items) == "succeeded"
    counted.assert_few(*MOST_TO_EXECUTE)
    with store.reading() as reader:
        seen = reader.value("SELECT count(*) FROM rows WHERE last_run_id = :run", run=run)
    assert seen == len(items)


def test_a_search_asks_a_server_twice_of_a_table_and_twice_more_of_one_that_has_the_text(
    counted: Counted,
) -> None:
    store = counted.store
    for number in range(10):
        dataset = made.make_dataset(store, name=f"table {number}")
        made.take(store, dataset, [{"sku": f"K{number}", "title": f"Lamp {number}"}])
    for text, with_it in (("nowhere", 0), ("lamp 7", 1), ("lamp", 10)):
        counted.forget()
        assert len(search(store, OwnerName("local"), text).hits) == with_it
        questions = 2 * (10 + with_it)
        counted.assert_few(questions + 6, questions + 5)
