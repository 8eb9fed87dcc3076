"""Whoever ends Runs, adds, removes and delivers notices at once, none waits in vain."""

from __future__ import annotations

import time
from functools import partial
from threading import Event
from typing import Any

import pytest

from livedata.model.errors import NameTaken, NotFound
from livedata.model.problem import Problem
from livedata.services import datasets
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.services.notices import delivering, notifying, subscriptions
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
    attempt, putting, truly = table.begin(), Event(), outbox.put

    def put_slowly(*message: Any) -> None:
        truly(*message)
        putting.set()
        time.sleep(0.2)

    monkeypatch.setattr(outbox, "put", put_slowly)
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


def test_of_two_who_add_a_name_or_remove_it_one_wins(store: Store) -> None:
    ends = at_once([partial(add_notice, store, "ops") for _ in range(4)])
    assert sum(isinstance(end, NameTaken) for end in ends) == 3
    ends = at_once([partial(subscriptions.remove, store, "local", "ops") for _ in range(4)])
    assert all(end is None or isinstance(end, NotFound) for end in ends), ends
