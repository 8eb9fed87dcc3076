"""What waits is delivered at least once, in order, again after a failure, and given up at last."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
import schedule
from typing_extensions import override

from livedata.model.errors import Damaged
from livedata.model.ids import Micros
from livedata.model.problem import Problem
from livedata.rules.network.targets import TargetPolicy
from livedata.services import processes
from livedata.services.audit.check import check_store
from livedata.services.audit.vitals import examine
from livedata.services.notices import delivering, subscriptions
from livedata.services.notices.delivering import Delivery
from livedata.store.database.store import Store
from livedata.worker import schedules, supervisor
from livedata.worker.delivery import courier as couriers
from livedata.worker.delivery.courier import Courier
from livedata.worker.supervisor import Dispatcher, Supervisor
from tests import made
from tests.notices.conftest import Notify, kinds_told
from tests.notices.receiver import Behaviour, Receiver, receiving
from tests.patience import AT_ONCE, until
from tests.services.conftest import Clock
from tests.services.table import A, Table

FAILED = Problem("notice.status", {"status": 500})
PAUSE = 10_000
DAY = 86_400


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the outbox often."""
    monkeypatch.setattr(supervisor, "ROUND", 0.02)


def taken(store: Store) -> Delivery:
    delivery = delivering.take(store)
    assert delivery is not None
    return delivery


def changed(table: Table, times: int) -> None:
    for number in range(times):
        table.take({**A, "price": number})


@contextmanager
def delivering_to(
    store: Store, notify: Notify, behave: Callable[[int], Behaviour] = lambda _: 200
) -> Iterator[tuple[Receiver, Courier]]:
    """A receiver of the notice `hook`, and a courier that is not started."""
    with receiving("", behave) as receiver:
        notice = notify("hook", channel="webhook", target=receiver.url, kinds=["changes"])
        receiver.secret = notice.secret or ""
        yield receiver, Courier(store, TargetPolicy(frozenset({receiver.place})), PAUSE)


@contextmanager
def at_work(courier: Courier) -> Iterator[None]:
    dispatcher = Dispatcher(courier.dispatch)
    dispatcher.start()
    try:
        yield
    finally:
        dispatcher.begin_stop()
        courier.begin_stop()
        dispatcher.finish_stop(time.monotonic() + 10)
        courier.finish_stop(time.monotonic() + 10)


def waiting(store: Store) -> int:
    return examine(store, 0).outbox.waiting


def sequences(receiver: Receiver) -> list[int]:
    return [event["data"]["changes"][0]["sequence"] for event in receiver.taken]


def test_messages_of_one_dataset_arrive_in_order_over_failures(
    table: Table, notify: Notify, store: Store
) -> None:
    answers: list[Behaviour] = [200, 500, 503, "close", 200, 302, 200]
    with delivering_to(store, notify, lambda place: answers[place] if place < 7 else 200) as (
        hook,
        courier,
    ):
        changed(table, 5)
        with at_work(courier):
            until(lambda: waiting(store) == 0)
    assert sequences(hook) == [1, 2, 3, 4, 5]
    # Each try of one message has the same id.
    assert len({event["id"] for event, _ in hook.arrived}) == 5
    assert len(hook.arrived) == 9
    assert kinds_told(store) == ["changes"] * 5
    assert check_store(store).problems == []


def test_a_message_waits_until_the_one_before_it_is_delivered(
    table: Table, notify: Notify, store: Store, clock: Clock
) -> None:
    notify(kinds=["changes"])
    changed(table, 2)
    first = taken(store)
    assert delivering.take(store) is None
    delivering.failed(store, first, FAILED)
    assert delivering.take(store) is None
    clock(6)
    again = taken(store)
    assert again.message.id == first.message.id
    assert again.event.body == first.event.body
    delivering.succeeded(store, again)
    assert taken(store).message.sequence == 2


def test_a_receiver_that_fails_holds_up_no_other(
    table: Table, notify: Notify, store: Store
) -> None:
    notify("one", kinds=["changes"])
    notify("two", kinds=["changes"])
    other = Table(store, made.declared("other"))
    changed(table, 1)
    changed(other, 1)
    streams = {(each.notice.name, each.head.dataset) for each in (taken(store) for _ in range(4))}
    assert streams == {(name, item.id) for name in ("one", "two") for item in (table, other)}
    assert delivering.take(store) is None


@pytest.mark.one_database
def test_pauses_grow_up_to_an_hour_and_after_a_day_a_message_is_given_up(
    table: Table, notify: Notify, store: Store, clock: Clock
) -> None:
    notify(kinds=["changes"])
    changed(table, 2)
    second, tries = 0, []
    while (delivery := delivering.take(store)) is None or delivery.message.sequence == 1:
        if delivery is None:
            second += 5 if second < 60 else 50 if second < 5_000 else 900
        else:
            tries.append(second)
            delivering.failed(store, delivery, FAILED)
        clock(second)
    pauses = [after - before for before, after in pairwise(tries)]
    assert pauses[0] <= 10
    assert max(pauses) <= 4_500
    assert sorted(pauses[:10]) == pauses[:10]
    assert DAY <= tries[-1] <= DAY + 900
    # The next one is as old: it is tried once.
    delivering.failed(store, delivery, FAILED)
    state = examine(store, 0).outbox
    assert (state.waiting, state.given_up, state.notice) == (0, 2, "ops")
    assert state.problem == FAILED
    assert check_store(store).problems == []
    # Whoever is reached again is well.
    changed(table, 1)
    delivering.succeeded(store, taken(store))
    assert examine(store, 0).outbox.given_up == 0


def test_what_a_dead_process_was_delivering_is_delivered_again(
    table: Table, notify: Notify, store: Store
) -> None:
    notify(kinds=["changes"])
    changed(table, 1)
    lost = taken(store)
    assert delivering.take(store) is None
    with store.writing() as writer:
        dead = f"{processes.machine()}/99999999/1"
        writer.execute("UPDATE notice_streams SET holder = :dead", dead=dead)
    again = taken(store)
    assert again.message.id == lost.message.id
    # The first wakes up: it has no say any more.
    delivering.failed(store, lost, FAILED)
    delivering.succeeded(store, lost)
    assert waiting(store) == 1
    delivering.succeeded(store, again)
    assert waiting(store) == 0


def test_what_another_machine_has_is_its_own_until_its_lease_is_over(
    table: Table, notify: Notify, store: Store, clock: Clock
) -> None:
    notify(kinds=["changes"])
    changed(table, 1)
    taken(store)
    with store.writing() as writer:
        writer.execute("UPDATE notice_streams SET holder = 'elsewhere/1/1'")
    clock(50)
    assert delivering.take(store) is None
    clock(61)
    assert delivering.take(store) is not None


def test_a_receiver_that_is_gone_turns_the_notice_off(
    table: Table, notify: Notify, store: Store
) -> None:
    with delivering_to(store, notify, lambda _: 410) as (hook, courier):
        changed(table, 3)
        courier.deliver_soon()
        changed(table, 1)
        courier.deliver_soon()
    assert len(hook.arrived) == 1
    assert subscriptions.find(store, "local", "hook").ended_at is not None
    assert waiting(store) == 0
    assert check_store(store).problems == []


def test_what_is_removed_while_it_is_sent_is_not_missed(
    table: Table, notify: Notify, store: Store
) -> None:
    notify(kinds=["changes"])
    changed(table, 2)
    delivery = taken(store)
    subscriptions.remove(store, "local", "ops")
    delivering.succeeded(store, delivery)
    assert delivering.take(store) is None
    assert check_store(store).problems == []


def test_a_command_that_is_stopped_is_tried_again_at_once(
    table: Table, notify: Notify, store: Store, tmp_path: Path
) -> None:
    file = tmp_path / "began"
    notify(kinds=["changes"], target=f"touch {file}; sleep 60")
    changed(table, 1)
    with at_work(Courier(store, TargetPolicy())):
        until(file.exists)
    until(lambda: delivering.take(store) is not None, AT_ONCE)


def test_a_machine_that_had_no_room_for_a_thread_delivers_when_it_has(
    table: Table, notify: Notify, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[str] = []

    class Lacking(threading.Thread):
        @override
        def start(self) -> None:
            if self.name == "courier" and len(refused) < 2:
                refused.append(self.name)
                raise RuntimeError("can't start new thread")
            super().start()

    monkeypatch.setattr(couriers, "Thread", Lacking)
    with delivering_to(store, notify) as (hook, courier):
        changed(table, 1)
        with at_work(courier):
            until(lambda: waiting(store) == 0, AT_ONCE)
    assert (len(refused), len(hook.taken)) == (2, 1)


def test_two_who_deliver_at_once_deliver_each_message_once(
    table: Table, notify: Notify, store: Store
) -> None:
    others = [table, *(Table(store, made.declared(f"t{number}")) for number in range(3))]
    with delivering_to(store, notify) as (hook, courier), closing(Store(store.url)) as second:
        for other in others:
            changed(other, 5)
        beside = Courier(second, TargetPolicy(frozenset({hook.place})), PAUSE)
        with at_work(courier), at_work(beside):
            until(lambda: waiting(store) == 0)
    assert len(hook.arrived) == 20
    by_source: dict[str, list[int]] = {}
    for event in hook.taken:
        sequence = event["data"]["changes"][0]["sequence"]
        by_source.setdefault(event["source"], []).append(sequence)
    assert list(by_source.values()) == [[1, 2, 3, 4, 5]] * 4


def test_a_notice_that_cannot_be_read_keeps_no_run_and_no_other_notice_waiting(
    table: Table, notify: Notify, store: Store
) -> None:
    for name in ("before", "damaged"):
        notify(name, kinds=["changes"])
    changed(table, 1)
    with store.writing() as writer:
        writer.execute("UPDATE notices SET kinds = '{' WHERE name = 'damaged'")
        writer.execute(
            "UPDATE notice_streams SET due_at = 1 WHERE notice_id IN "
            "(SELECT id FROM notices WHERE name = 'damaged')"
        )
    table.take({**A, "price": 9})
    with pytest.raises(Damaged, match="in the table notices"):
        delivering.take(store)
    assert taken(store).notice.name == "before"
    assert kinds_told(store) == ["changes"] * 3
    (problem,) = check_store(store).problems
    assert "in the table notices" in problem


@pytest.mark.one_database
def test_who_executes_runs_delivers_and_tells_of_silence(
    table: Table,
    notify: Notify,
    store: Store,
    tmp_path: Path,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TZ", "UTC")  # the thread of the schedules sets it
    file = tmp_path / "told"
    notify(target=f"cat >> {file}", silent_for=Micros(DAY * 1_000_000))
    changed(table, 1)
    clock(2 * DAY)
    # As if a minute had passed at each look.
    monkeypatch.setattr(schedule.Scheduler, "run_pending", schedule.Scheduler.run_all)
    monkeypatch.setattr(schedules, "TICK", 0.05)
    with Supervisor(store, "UTC", 0, 1000, TargetPolicy(), schedules=True):
        until(lambda: len(kinds_told(store)) == 2 and waiting(store) == 0)
    kinds = [json.loads(line)["type"] for line in file.read_text().splitlines()]
    assert kinds == ["livedata.changes", "livedata.silent"]
