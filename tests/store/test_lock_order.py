"""Every act locks first and reads then: Run, dataset, owner, in this order.

What charges or tells of a Run locks the owner last: after that only the charge and what is told are
written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from threading import Thread

import pytest
from typing_extensions import override

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import Damaged
from livedata.model.harvest import StopReason
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, feed, runs, scheduler, takeover
from livedata.services import apply as applying
from livedata.services.apply import Terms
from livedata.services.notices import digests
from livedata.store.database.backend import Answer, Row, Writer
from livedata.store.database.store import Store
from tests import made
from tests.made import BROKEN
from tests.notices.conftest import add_notice
from tests.patience import until
from tests.services.table import A, B, Table, pages_of


def locks_of(sql: str) -> list[str]:
    """The locks that a question takes, in their order."""
    outside = ""
    while outside != sql:  # what stands within brackets is only read
        outside, sql = sql, re.sub(r"\([^()]*\)", "", sql)
    tables = re.findall(r"(?:FROM|JOIN) (runs|datasets|owners)\b", outside)
    assert tables
    return [f"lock {table}" for table in tables]


class Recording:
    """A write transaction that notes its statements."""

    def __init__(self, writer: Writer, said: list[str]) -> None:
        self._writer = writer
        self.limits = writer.limits
        self._said = said

    def locked(self, sql: str, /, **values: object) -> Row | None:
        self._said += locks_of(sql)
        return self._writer.locked(sql, **values)

    def lock(self, sql: str, /, **values: object) -> Answer:
        self._said += locks_of(sql)
        return self._writer.lock(sql, **values)

    def lock_briefly(self, sql: str, /, **values: object) -> Answer:
        if "RETURNING" in sql:
            return self._note(sql).lock_briefly(sql, **values)
        self._said += locks_of(sql)
        return self._writer.lock_briefly(sql, **values)

    def locked_if_free(self, sql: str, /, **values: object) -> Row | None:
        self._said += locks_of(sql)
        return self._writer.locked_if_free(sql, **values)

    def all_locked_if_free(self, sql: str, /, **values: object) -> list[Row]:
        self._said += locks_of(sql)
        return self._writer.all_locked_if_free(sql, **values)

    @property
    def joins(self) -> bool:
        return self._writer.joins

    def now(self) -> ids.Micros:
        return self._writer.now()

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        return list(self._note(sql).rows(sql, **values))

    def ask(self, sql: str, /, **values: object) -> Answer:
        return self._note(sql).ask(sql, **values)

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        return self._note(sql).each(sql, **values)

    def page(self, sql: str, /, **values: object) -> Iterator[Row]:
        return self._note(sql).page(sql, **values)

    def row(self, sql: str, /, **values: object) -> Row | None:
        return self._note(sql).row(sql, **values)

    def value(self, sql: str, /, **values: object) -> object:
        return self._note(sql).value(sql, **values)

    def execute(self, sql: str, /, **values: object) -> None:
        self._note(sql).execute(sql, **values)

    def written(self, sql: str, /, **values: object) -> int:
        return self._note(sql).written(sql, **values)

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        self._note(sql).many(sql, rows)

    def size(self) -> int:
        return self._writer.size()

    def damage(self) -> list[str]:
        return self._writer.damage()

    def unreadable(self) -> Iterator[Damaged]:
        return self._writer.unreadable()

    def unique_indexes(self) -> list[Row]:
        return self._writer.unique_indexes()

    def call(self) -> None:
        self._writer.call()

    def call_next(self, site: str) -> None:
        self._writer.call_next(site)

    def dangling(self) -> list[str]:
        return self._writer.dangling()

    def _note(self, sql: str) -> Writer:
        verb, *rest = sql.split()
        # Of what is written, also the table: the word behind INTO, FROM, or the verb itself.
        table = [] if verb in {"SELECT", "WITH"} else rest[verb != "UPDATE" :][:1]
        self._said.append(" ".join([verb, *table]))
        return self._writer


class RecordingStore(Store):
    """A store that notes what is said in each of its write transactions."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.transactions: list[list[str]] = []

    @contextmanager
    @override
    def writing(self) -> Iterator[Writer]:
        self.transactions.append([])
        with super().writing() as writer:
            yield Recording(writer, self.transactions[-1])


@pytest.fixture
def table(store: Store) -> Iterator[Table]:
    """A dataset with two rows, in a store that notes what is said."""
    recording = RecordingStore(store.url)
    yield Table(recording)
    recording.close()


def edit(table: Table) -> None:
    table.edit("A1", {"title": "Lantern"})


def update(table: Table) -> None:
    datasets.update(table.store, "local", table.id, read(UpdateDataset, {"question": "Which?"}))


def revise(table: Table) -> None:
    declared = read(CreateDataset, made.declared(required=("title",)))
    datasets.revise(table.store, "local", table.id, declared, TargetPolicy())


def take_over(table: Table) -> None:
    columns = [{**column, "key": column["name"] == "title"} for column in made.COLUMNS]
    source = read(CreateDataset, made.declared(columns=columns))
    plan = takeover.plan(table.store, "local", table.id, source, TargetPolicy())
    takeover.take_over(table.store, "local", table.id, source, plan, "UTC")


def remove(table: Table) -> None:
    datasets.remove(table.store, "local", table.id)


def enqueue(table: Table) -> None:
    runs.enqueue(table.store, "local", table.id)


def take_up(table: Table) -> None:
    runs.take_up(table.store, "local", table.id, "shop")


def begin(table: Table) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    attempts.begin(table.store, ids.RunId(ids.raw_id(run)))


def finish(table: Table) -> None:
    table.take(A)


def accept(table: Table) -> None:
    table.take(*MANY)
    run = table.take(A)
    assert run["status"] == "held"
    runs.accept(table.store, "local", ids.RunId(ids.raw_id(run["id"])))


def claim(table: Table) -> None:
    update_schedule = read(UpdateDataset, {"schedule": "0 6 * * *", "status": "active"})
    datasets.update(table.store, "local", table.id, update_schedule)
    # Another store, so that this is no act of the one that is recorded.
    with closing(Store(table.store.url)) as other, other.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1")
    scheduler.claim_due(table.store, "local")


def tick(table: Table) -> None:
    claim(table)
    with closing(Store(table.store.url)) as other, other.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1")
    assert list(scheduler.tick(table.store, "UTC"))


def grant(table: Table) -> None:
    accounts.grant(table.store, "local", 5)


def keep_cursor(table: Table) -> None:
    feed.keep_cursor(table.store, table.id, "reader", 1)


def digest(table: Table) -> None:
    add_notice(table.store, kinds=["changes"], digest="0 7 * * *")
    table.take({**A, "price": 1}, B)
    with closing(Store(table.store.url)) as other, other.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1")
    assert list(digests.tell_due(table.store, "UTC"))


MANY = [{**A, "sku": f"K{number}"} for number in range(20)]
LOCKS: Mapping[Callable[[Table], None], tuple[str, ...]] = {
    edit: ("datasets",),
    update: ("datasets",),
    revise: ("datasets",),
    remove: ("runs", "datasets", "owners"),
    take_over: ("datasets", "owners"),
    keep_cursor: ("datasets",),
    begin: ("runs", "datasets"),
    claim: ("datasets", "owners"),
    tick: ("datasets", "owners"),
    enqueue: ("datasets",),
    take_up: ("datasets",),
    grant: ("owners",),
    digest: ("owners",),
    finish: ("runs", "datasets"),
    accept: ("runs", "datasets"),
}
SETTLED = {"ledger", "notice_streams", "outbox"}
"""What is written while the owner is locked by whoever ends a Run."""


def transactions(table: Table) -> list[list[str]]:
    assert isinstance(table.store, RecordingStore)
    return table.store.transactions


@pytest.mark.parametrize("act", LOCKS, ids=lambda act: act.__name__)
def test_an_act_locks_first_and_in_order(table: Table, act: Callable[[Table], None]) -> None:
    table.take(A, B)
    act(table)
    said = transactions(table)[-1]
    locks = [f"lock {name}" for name in LOCKS[act]]
    # Meeting an owner writes at most, so that there is somebody to lock.
    started = said[1:] if said[0] == "INSERT owners" else said
    if act is tick:
        # Which Runs were lost is read before: a batch is left if any was. Of a batch only the
        # owners whose fires are skipped are locked, and nothing of theirs is read before.
        first = started.index(locks[-1])
        started = [started[1], *started[first:]]
    assert started[: len(locks)] == locks
    assert not [word for word in started[len(locks) :] if word.startswith("lock")]
    assert len(started) > len(locks)


def test_a_folder_is_applied_with_all_datasets_locked_first_and_their_owner_then(
    table: Table,
) -> None:
    made.make_dataset(table.store, name="lamps")
    folder = [
        made.source_of("lamps", question="Which?", notice=[{"name": "ops", "command": "cat"}]),
        made.source_of("mugs"),
        made.source_of("shop", source={"itemSelector": "p"}, share=[{"label": "sheet"}]),
    ]
    applying.apply(table.store, "local", folder, Terms(TargetPolicy()))
    said = transactions(table)[-1]
    locks = ["lock datasets", "lock datasets", "lock owners"]
    assert said[: len(locks) + 1] == ["INSERT owners", *locks]
    # What is locked again is held already, or new: no other act waits for it.
    assert {word for word in said[4:] if word.startswith("lock")} == {"lock datasets"}


@pytest.mark.postgres
def test_a_server_locks_a_run_before_its_dataset(store: Store) -> None:
    dataset = made.make_dataset(store)
    run = ids.RunId(ids.raw_id(runs.enqueue(store, "local", dataset)[0]))
    one, other = "SELECT id FROM datasets WHERE id = :id", "SELECT id FROM runs WHERE id = :id"
    with closing(Store(store.url)) as editing, closing(Store(store.url)) as looking:
        with editing.writing() as editor:
            editor.locked(one, id=dataset)
            beginning = Thread(target=attempts.begin, args=(store, run))
            beginning.start()
            # It waits for the dataset, and has the Run.
            until(lambda: free(looking, other, run) is None, 20)
        beginning.join()


def free(store: Store, sql: str, run: ids.RunId) -> Row | None:
    """What is locked by nobody."""
    with store.writing() as writer:
        return writer.locked_if_free(sql, id=run)


def fail(table: Table) -> None:
    attempt = table.begin()
    table.finish(attempt, pages_of(attempt.recipe, [A], ending=StopReason("page_failed", BROKEN)))


@pytest.mark.parametrize("act", [finish, accept, fail], ids=lambda act: act.__name__)
def test_whoever_ends_a_run_locks_its_owner_last(
    table: Table, act: Callable[[Table], None]
) -> None:
    add_notice(table.store)
    table.take(A, B)
    fail(table)
    act(table)
    said = transactions(table)[-1]
    # An accepted Run is charged, which locks too.
    locked = said.index("lock owners" if act is fail else "UPDATE owners")
    written = [word.split() for word in said[locked + 1 :] if word != "SELECT"]
    assert {table for _, table in written} == {*SETTLED} - ({"ledger"} if act is fail else {*()})
