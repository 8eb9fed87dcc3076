"""Whoever ends Runs, adds, removes and delivers notices at once, none waits in vain."""

from __future__ import annotations

import time
from functools import partial
from threading import Event
from typing import Any

import orjson
import pytest

from livedata.model import ids
from livedata.model.errors import NameTaken, NotFound
from livedata.model.problem import Problem
from livedata.services import datasets
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.services.notices import delivering, digests, notifying, subscriptions
from livedata.store import outbox
from livedata.store.database.store import Store
from tests import made
from tests.notices.conftest import add_notice, kinds_told
from tests.services.table import A, Table, pages_of
from tests.services.test_races import at_once

ROUNDS = 5


def deliver(store: Store) -> None:
    delivery = delivering.take(store)
    if delivery is not None:
        delivering.succeeded(store, delivery)


def apart(store: Store, number: int) -> Table:
    """A dataset on a site of its own: Runs of one site are in turn."""
    declared: Any = made.declared(f"t{number}")
    declared["source"]["url"] = f"https://shop{number}.example/list"
    return Table(store, declared)


def test_runs_end_while_notices_come_and_go(store: Store) -> None:
    tables = [apart(store, number) for number in range(3)]
    add_notice(store, "stays", kinds=["changes"])
    for number in range(ROUNDS):
        add_notice(store, f"goes{number}")
        begun = [(table, table.begin()) for table in tables]
        ends = at_once(
            [
                *(
                    partial(
                        table.finish, attempt, pages_of(attempt.recipe, [{**A, "price": number}])
                    )
                    for table, attempt in begun
                ),
                partial(subscriptions.remove, store, "local", f"goes{number}"),
                partial(add_notice, store, f"comes{number}"),
                partial(deliver, store),
                partial(deliver, store),
                partial(notifying.tell_silence, store),
            ]
        )
        assert [end for end in ends if isinstance(end, Exception)] == []
    assert (
        kinds_told(store, subscriptions.find(store, "local", "stays")) == ["changes"] * 3 * ROUNDS
    )
    assert check_store(store).problems == []


def remove_once(happened: Event, store: Store) -> None:
    happened.wait()
    subscriptions.remove(store, "local", "ops")


def test_a_notice_is_removed_before_it_is_told_something_or_after(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table(store)
    add_notice(store)
    attempt, putting, truly = table.begin(), Event(), outbox.put_each

    def put_slowly(*message: Any) -> None:
        truly(*message)
        putting.set()
        time.sleep(0.2)

    monkeypatch.setattr(outbox, "put_each", put_slowly)
    ends = at_once(
        [
            partial(table.finish, attempt, pages_of(attempt.recipe, [A])),
            partial(remove_once, putting, store),
        ]
    )
    assert [end for end in ends if isinstance(end, Exception)] == []
    assert (table.feed()[0]["kind"], kinds_told(store)) == ("created", [])


def slowly(monkeypatch: pytest.MonkeyPatch, act: str, seconds: float = 0.3) -> Event:
    """Let something in the outbox take its time; set once it has begun."""
    truly, begun = getattr(outbox, act), Event()

    def take_time(*arguments: Any) -> None:
        begun.set()
        time.sleep(seconds)
        truly(*arguments)

    monkeypatch.setattr(outbox, act, take_time)
    return begun


@pytest.mark.parametrize("removed", ["notice", "dataset"])
def test_what_is_removed_while_it_is_delivered_holds_nobody_up(
    table: Table, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    store = table.store
    add_notice(store, kinds=["changes"])
    table.take(A)
    delivery, begun = delivering.take(store), slowly(monkeypatch, "end")
    assert delivery is not None

    def remove() -> None:
        begun.wait()
        if removed == "notice":
            subscriptions.remove(store, "local", "ops")
        else:
            datasets.remove(store, "local", table.id)

    assert at_once([partial(delivering.succeeded, store, delivery), remove]) == [None, None]
    assert kinds_told(store) == []


def test_two_receivers_that_want_no_more_of_a_notice_hold_nobody_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    notice = add_notice(store, kinds=["changes"])
    for number in range(2):
        apart(store, number).take(A)
    deliveries = [each for _ in range(2) if (each := delivering.take(store)) is not None]
    slowly(monkeypatch, "give_up_all")
    gone = Problem("notice.gone")
    ends = at_once([partial(delivering.unwanted, store, each, gone) for each in deliveries])
    assert ends == [None, None]
    assert subscriptions.find(store, "local", notice.name).ended_at is not None
    assert examine(store, 0).outbox.given_up == 2


def test_two_who_take_at_once_never_take_the_same(store: Store) -> None:
    tables = [Table(store, made.declared(f"t{number}")) for number in range(4)]
    add_notice(store, kinds=["changes"])
    for table in tables:
        table.take(A)
    taken = at_once([partial(delivering.take, store) for _ in range(8)])
    assert not any(isinstance(each, Exception) for each in taken), taken
    streams = [each.head.dataset for each in taken if each is not None]
    assert len(streams) == len(set(streams))
    # Who was skipped comes again.
    while (more := delivering.take(store)) is not None:
        streams.append(more.head.dataset)
    assert sorted(streams) == sorted(table.id for table in tables)


def fire(store: Store) -> int:
    """Tell what digests are due; of how many datasets."""
    return sum(digest.datasets for digest in digests.tell_due(store, "UTC"))


def make_due(store: Store) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE notices SET digest_at = 1 WHERE digest IS NOT NULL")


def test_of_many_who_fire_a_digest_one_tells_it_and_runs_end_meanwhile(store: Store) -> None:
    tables = [apart(store, number) for number in range(3)]
    add_notice(store, kinds=["changes"], digest="0 7 * * *")
    for number in range(ROUNDS):
        begun = [(table, table.begin()) for table in tables]
        make_due(store)
        ends = at_once(
            [
                *(
                    partial(
                        table.finish, attempt, pages_of(attempt.recipe, [{**A, "price": number}])
                    )
                    for table, attempt in begun
                ),
                *(partial(fire, store) for _ in range(4)),
                partial(digests.replan, store, "UTC"),
                partial(deliver, store),
            ]
        )
        assert [end for end in ends if isinstance(end, Exception)] == []
    make_due(store)
    fire(store)
    assert_told_once(store, {table.id: ROUNDS for table in tables})
    assert check_store(store).problems == []


def assert_told_once(store: Store, heads: dict[ids.DatasetId, int]) -> None:
    """The digests tell of each dataset up to its head, without a gap and nothing twice."""
    with store.reading() as reader:
        texts = reader.rows("SELECT data FROM outbox WHERE kind = 'digest' ORDER BY sequence")
    through: dict[str, int] = {}
    for (text,) in texts:
        for part in orjson.loads(text)["datasets"]:
            key = part["dataset"]["id"]
            assert part["after"] == through.get(key, 0)
            through[key] = part["through"]
    assert through == {ids.format_uuid(key): head for key, head in heads.items()}


@pytest.mark.parametrize("removed", ["notice", "dataset"])
def test_what_is_removed_while_a_digest_fires_is_told_before_or_not_at_all(
    store: Store, monkeypatch: pytest.MonkeyPatch, removed: str
) -> None:
    tables = [apart(store, number) for number in range(2)]
    add_notice(store, kinds=["changes"], digest="0 7 * * *")
    for table in tables:
        table.take(A)
    make_due(store)
    begun = slowly(monkeypatch, "put_each")

    def remove() -> None:
        begun.wait()
        if removed == "notice":
            subscriptions.remove(store, "local", "ops")
        else:
            datasets.remove(store, "local", tables[0].id)

    assert at_once([partial(fire, store), remove]) == [2, None]
    while (delivery := delivering.take(store)) is not None:
        assert removed == "dataset"
        told = orjson.loads(delivery.event.body)["data"]["datasets"]
        assert [part["dataset"]["name"] for part in told] == ["t1"]
        delivering.succeeded(store, delivery)
    assert check_store(store).problems == []


def test_a_dataset_that_is_removed_while_it_is_gathered_keeps_no_other(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [apart(store, number) for number in range(2)]
    add_notice(store, kinds=["changes"], digest="0 7 * * *")
    for table in tables:
        table.take(A)
    make_due(store)
    gathered = digests._gathered

    def gather_and_remove(*arguments: Any) -> Any:
        told = gathered(*arguments)
        datasets.remove(store, "local", tables[0].id)
        return told

    monkeypatch.setattr(digests, "_gathered", gather_and_remove)
    assert fire(store) == 1
    assert check_store(store).problems == []


def test_of_two_who_add_a_name_or_remove_it_one_wins(store: Store) -> None:
    ends = at_once([partial(add_notice, store, "ops") for _ in range(4)])
    assert sum(isinstance(end, NameTaken) for end in ends) == 3
    ends = at_once([partial(subscriptions.remove, store, "local", "ops") for _ in range(4)])
    assert all(end is None or isinstance(end, NotFound) for end in ends), ends
