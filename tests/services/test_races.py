"""Whoever writes at once, one wins, and the others get the answer that they would get later."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.errors import (
    ChangedMeanwhile,
    Conflict,
    InsufficientCredits,
    NotFound,
    RevisionConflict,
    RunInProgress,
    SchemaVersionConflict,
)
from livedata.model.harvest import StopReason
from livedata.model.ids import OwnerName
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, interruptions, queries, runs, scheduler
from livedata.services.attempts import Attempt
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.services.pages import sessions
from livedata.services.scheduler import Fire
from livedata.store import accounts as account_store
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, Table, pages_of
from tests.services.test_leases import begun, lapse

THREADS = 8
ROUNDS = 20
MANY = [{**A, "sku": f"K{number}"} for number in range(20)]


def at_once(acts: Sequence[Callable[[], object]]) -> list[Any]:
    """What each act returned, or the error that it raised."""
    ends: list[Any] = [None] * len(acts)
    start = threading.Barrier(len(acts))

    def take_part(number: int) -> None:
        start.wait()
        try:
            ends[number] = acts[number]()
        except Exception as error:  # noqa: BLE001  (each is counted by its kind)
            ends[number] = error

    threads = [threading.Thread(target=take_part, args=(number,)) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return ends


def kinds(ends: Sequence[Any]) -> Counter[str]:
    """How often each kind of end came."""
    return Counter(type(end).__name__ for end in ends)


def assert_sound(store: Store) -> None:
    assert check_store(store).problems == []


def test_of_edits_of_one_revision_one_wins(table: Table) -> None:
    table.take(A)
    row, title = table.row("A1")["id"], table.fields["title"]
    for number in range(ROUNDS):
        expected = {"expectedRevisionId": table.row("A1")["revisionId"]}
        ends = at_once(
            [
                partial(table.send, row, {**expected, "requestId": text, "values": {title: text}})
                for text in (f"{number}/{which}" for which in range(THREADS))
            ]
        )
        assert kinds(ends) == {"dict": 1, RevisionConflict.__name__: THREADS - 1}, ends
    assert_sound(table.store)


def test_an_edit_that_is_sent_several_times_at_once_is_written_once(table: Table) -> None:
    table.take(A)
    row, fields = table.row("A1")["id"], table.fields
    for number in range(ROUNDS):
        body = {
            "expectedRevisionId": table.row("A1")["revisionId"],
            "requestId": f"request {number}",
            "values": {fields["title"]: str(number)},
        }
        head = len(table.feed())
        ends = at_once([partial(table.send, row, body)] * THREADS)
        assert kinds(ends) == {"dict": THREADS}, ends
        assert len({end["id"] for end in ends}) == 1
        assert len(table.feed()) == head + 1
    assert_sound(table.store)


def test_a_dataset_gets_one_run_whoever_asks(table: Table) -> None:
    store = table.store
    for _ in range(ROUNDS):
        ends = at_once([partial(runs.enqueue, store, "local", table.id)] * THREADS)
        assert kinds(ends) == {"tuple": 1, RunInProgress.__name__: THREADS - 1}, ends
        (run,) = {end[0] for end in ends if isinstance(end, tuple)}
        runs.cancel(store, ids.RunId(ids.raw_id(run)))
    assert_sound(store)


def test_a_dataset_that_is_asked_for_as_it_fires_gets_one_run(table: Table) -> None:
    store = table.store
    active = read(UpdateDataset, {"schedule": "0 6 * * *", "status": "active"})
    datasets.update(store, "local", table.id, active)
    ask = partial(runs.enqueue, store, "local", table.id)
    fire = partial(scheduler.take_fire, store, table.id, "UTC")
    for _ in range(ROUNDS):
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = 1")
        ends = at_once([*[ask] * 4, *[fire] * 4])
        (taken,) = [end for end in ends if isinstance(end, Fire)]
        assert taken.queued is not None
        # Whoever asked was first, or late: the fire takes up the Run that is there.
        asked = kinds(ends[:4])
        assert asked[RunInProgress.__name__] == (3 if taken.waited else 4), ends
        with store.reading() as reader:
            opened = reader.value("SELECT count(*) FROM runs WHERE status = 'queued'")
        assert opened == 1
        runs.cancel(store, taken.queued.run)
    assert_sound(store)


def test_a_run_that_is_taken_up_by_many_is_one(table: Table) -> None:
    store = table.store
    for _ in range(ROUNDS):
        ends = at_once([partial(runs.take_up, store, "local", table.id, "shop")] * THREADS)
        assert kinds(ends) == {"Queued": THREADS}, ends
        (run,) = {end.run for end in ends}
        begins = at_once([partial(attempts.begin, store, run)] * THREADS)
        assert kinds(begins) == {"Attempt": 1, "NotYet": THREADS - 1}, begins
        finish(store, next(end for end in begins if isinstance(end, Attempt)))
    assert_sound(store)


def add_column(table: Table, current: Dataset, name: str) -> Dataset:
    """Give the dataset a column, if nobody has changed it since it was `current`."""
    kept = [{key: column[key] for key in ("id", "name", "type")} for column in current["columns"]]
    new = {"name": name, "type": "string", "ownership": "user"}
    body = {"expectedSchemaVersion": current["schemaVersion"], "columns": [*kept, new]}
    return datasets.update(table.store, "local", table.id, read(UpdateDataset, body))


def test_of_updates_of_one_schema_one_wins(table: Table) -> None:
    for number in range(ROUNDS):
        current = table.dataset
        names = [f"c{number}x{which}" for which in range(THREADS)]
        ends = at_once([partial(add_column, table, current, name) for name in names])
        assert kinds(ends) == {"dict": 1, SchemaVersionConflict.__name__: THREADS - 1}, ends
    assert_sound(table.store)


def test_of_names_that_browsers_have_typed_over_one_another_one_wins(table: Table) -> None:
    store = table.store
    for number in range(ROUNDS):
        shown = queries.dataset(store, "local", table.id)
        wanted = [UpdateDataset(name=f"{number} of {which}") for which in range(THREADS)]
        update = partial(datasets.update, store, "local", table.id, as_read=shown)
        ends = at_once([partial(update, each) for each in wanted])
        assert kinds(ends) == {"dict": 1, ChangedMeanwhile.__name__: THREADS - 1}, ends


def with_selector(selector: str) -> CreateDataset:
    declared: dict[str, Any] = made.declared()
    declared["source"]["itemSelector"] = selector
    return read(CreateDataset, declared)


def test_of_sources_that_follow_one_version_one_is_pinned(table: Table) -> None:
    store, targets = table.store, TargetPolicy()
    for number in range(ROUNDS):
        declared = [with_selector(f"li.of-{number}-{which}") for which in range(THREADS)]
        after = queries.recipe_version(store, "local", table.id)
        revise = partial(datasets.revise, store, "local", table.id, targets=targets, after=after)
        ends = at_once([partial(revise, declared=each) for each in declared])
        assert kinds(ends) == {
            datasets.Revised.__name__: 1,
            ChangedMeanwhile.__name__: THREADS - 1,
        }, ends
        assert queries.recipe_version(store, "local", table.id) == after + 1


def test_a_held_run_is_accepted_once(table: Table) -> None:
    store = table.store
    for _ in range(ROUNDS):
        table.take(*MANY)
        held = table.take(A)
        assert held["status"] == "held"
        run = ids.RunId(ids.raw_id(held["id"]))
        ends = at_once([partial(runs.accept, store, "local", run)] * THREADS)
        assert kinds(ends) == {"str": 1, Conflict.__name__: THREADS - 1}, ends
    assert_sound(store)


def test_a_dataset_is_deleted_or_gets_a_run_and_never_both(store: Store) -> None:
    for number in range(ROUNDS):
        dataset = made.make_dataset(store, name=f"shop {number}")
        made.take(store, dataset)
        remove = partial(datasets.remove, store, "local", dataset)
        enqueue = partial(runs.enqueue, store, "local", dataset)
        removed, *queued = at_once([remove, *[enqueue] * (THREADS - 1)])
        if removed is None:
            assert kinds(queued) == {NotFound.__name__: THREADS - 1}, queued
        else:
            assert isinstance(removed, RunInProgress), removed
            assert kinds(queued) == {"tuple": 1, RunInProgress.__name__: THREADS - 2}, queued
    assert_sound(store)


def test_a_dataset_is_deleted_while_its_held_run_is_accepted(store: Store) -> None:
    for number in range(ROUNDS):
        dataset = made.make_dataset(store, name=f"shop {number}")
        made.take(store, dataset, MANY)
        run = ids.RunId(ids.raw_id(made.take(store, dataset, [A])))
        remove = partial(datasets.remove, store, "local", dataset)
        ends = at_once([remove, *[partial(runs.accept, store, "local", run)] * 3])
        assert ends[0] is None
        assert {*kinds(ends[1:])} <= {"str", Conflict.__name__, NotFound.__name__}, ends
    assert_sound(store)


def finish(store: Store, attempt: Attempt) -> str:
    """End a Run that has read one page."""
    harvest = made.harvest(attempt.recipe, [A], StopReason("natural_end"))
    return attempts.finish(store, attempt, harvest, AcceptancePolicy())


def test_no_balance_falls_below_0(store: Store) -> None:
    for number in range(ROUNDS):
        owner = f"owner {number}"
        names = [f"shop {each}" for each in range(6)]
        started = []
        for name in names:
            dataset = made.make_dataset(store, owner, name, balance=3)
            run, _ = runs.enqueue(store, owner, dataset)
            with store.writing() as writer:
                # Sites of their own, or they would wait for each other's turn.
                writer.execute("UPDATE runs SET site = :site WHERE status = 'queued'", site=name)
            attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
            assert attempt is not None
            started.append(attempt)
        ends = at_once([partial(finish, store, attempt) for attempt in started])
        assert Counter(ends) == {"succeeded": 3, "held": 3}, ends
        with store.reading() as reader:
            assert reader.value("SELECT balance FROM owners WHERE name = :o", o=owner) == 0
    assert_sound(store)


def test_an_owner_is_met_once(store: Store) -> None:
    for number in range(ROUNDS):
        owner = f"owner {number}"
        meet = partial(accounts.create_key, store, owner, None, first_credits=7)
        grant = partial(accounts.grant, store, owner, 1, first_credits=7)
        assert kinds(at_once([*[meet] * 4, *[grant] * 4])) == {"dict": 8}
        with store.reading() as reader:
            assert reader.value("SELECT balance FROM owners WHERE name = :o", o=owner) == 11
    assert_sound(store)


def test_a_fire_is_taken_once(table: Table) -> None:
    store = table.store
    active = read(UpdateDataset, {"schedule": "0 6 * * *", "status": "active"})
    datasets.update(store, "local", table.id, active)
    for _ in range(ROUNDS):
        with store.writing() as writer:
            writer.execute("UPDATE datasets SET next_run_at = 1")
        ends = at_once([partial(scheduler.take_fire, store, table.id, "UTC")] * THREADS)
        assert kinds(ends) == {"Fire": 1, "NoneType": THREADS - 1}, ends
        (fire,) = [end for end in ends if isinstance(end, Fire)]
        assert fire.queued is not None
        runs.cancel(store, fire.queued.run)
    assert_sound(store)


@pytest.mark.parametrize("fallen", [1, 3])
def test_sweeps_beside_a_start_lose_and_double_nothing(store: Store, fallen: int) -> None:
    for number in range(ROUNDS):
        lost = [begun(store, f"shop-{number}-{each}") for each in range(fallen)]
        lapse(store, *lost, holder="elsewhere/1/1")
        run = lost[0].run
        sweep, start = (
            partial(interruptions.reap_expired_leases, store),
            partial(attempts.begin, store, run),
        )
        ends = at_once([*[sweep] * 4, *[start] * 4])
        assert kinds(ends[:4]) == {"NoneType": 4}, ends
        assert kinds(ends[4:]) == {"Attempt": 1, "NotYet": 3}, ends
        with store.reading() as reader:
            tried = reader.value("SELECT attempt FROM runs WHERE id = :run", run=run)
        # One that fell alone has used an attempt; of several, nobody knows which one it was.
        assert tried == (2 if fallen == 1 else 1)
    assert_sound(store)


def test_of_browsers_that_come_with_one_link_one_is_signed_in(store: Store) -> None:
    for _ in range(ROUNDS):
        link = sessions.make_link(store, "local")
        ends = at_once([partial(sessions.follow_link, store, link)] * THREADS)
        assert kinds(ends) == {"str": 1, "NoneType": THREADS - 1}, ends


def balance(store: Store) -> int:
    with store.reading() as reader:
        left = account_store.balance(reader, OwnerName("local"))
    assert left is not None
    return left


def spend_to(store: Store, left: int) -> None:
    """Leave `local` so many credits, as another process does it."""
    with closing(Store(store.url)) as other:
        accounts.grant(other, "local", left - balance(other))


@pytest.mark.postgres  # a file has one writer at a time
@pytest.mark.parametrize("left", [0, 1])
def test_a_run_whose_credits_are_spent_as_it_ends_is_judged_by_what_is_left(
    table: Table, monkeypatch: pytest.MonkeyPatch, left: int
) -> None:
    store, attempt, truly = table.store, table.begin(), account_store.charge
    afterwards = [left]

    def charge(*charged: Any) -> Callable[[], bool]:
        # Its rows are written by now.
        while afterwards:
            spend_to(store, afterwards.pop())
        return truly(*charged)

    monkeypatch.setattr(account_store, "charge", charge)
    run = table.finish(attempt, pages_of(attempt.recipe, [A], [B]))
    assert (run["status"], table.rows(), table.feed(), balance(store)) == ("held", {}, [], left)
    assert f"and the balance is {left}: add some" in str(run["error"])
    spend_to(store, 2)
    afterwards.append(1)
    with pytest.raises(InsufficientCredits):
        runs.accept(store, "local", attempt.run)
    assert (table.rows(), balance(store)) == ({}, 1)
    spend_to(store, 2)
    runs.accept(store, "local", attempt.run)
    assert (len(table.feed()), balance(store)) == (2, 0)
    assert_sound(store)
