"""What a notice is told of the Runs of a dataset, in the transaction that ends them."""

from __future__ import annotations

import pytest

from livedata.model import ids
from livedata.model.errors import Damaged, LostLease
from livedata.model.harvest import StopReason
from livedata.services import attempts, datasets, interruptions, runs
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.services.notices import notifying, subscriptions
from livedata.services.notices.told_changes import described
from livedata.services.retention import forget_old
from livedata.store.database.store import Store
from tests import made
from tests.notices.conftest import Notify, kinds_told, told
from tests.services.conftest import Clock
from tests.services.table import A, B, C, Table, pages_of

BROKEN = StopReason("page_failed", made.BROKEN)
HOUR = 3_600
MANY = [{**A, "sku": f"M{number}"} for number in range(30)]


def fail(table: Table) -> None:
    attempt = table.begin()
    table.finish(attempt, pages_of(attempt.recipe, [A], ending=BROKEN))


def test_changes_are_told_with_how_many_there_are(table: Table, notify: Notify) -> None:
    notify(kinds=["changes"])
    table.take(A, B)
    table.take(A, B)
    table.take({**A, "title": "Lamp II"}, C)
    assert told(table.store) == [
        ("changes", "shop: 2 new, 0 changed, 0 gone."),
        ("changes", "shop: 1 new, 1 changed, 1 gone."),
    ]
    assert check_store(table.store).problems == []


def test_what_only_the_source_under_a_hand_edit_says_is_told_as_that(
    table: Table, notify: Notify
) -> None:
    table.take(A, B, C)
    for row in (A, B):
        table.edit(str(row["sku"]), {"price": 7})
    notify(kinds=["changes"])
    table.take({**A, "price": 11}, B, C)
    table.take({**A, "price": 12}, {**B, "price": 12}, {**C, "price": 12})
    table.take({**A, "price": 12, "title": "Lamp II"}, {**B, "price": 12}, {**C, "price": 12})
    table.edit("C3", {"price": 7})
    table.take({**A, "price": 12, "title": "Lamp II"}, {**B, "price": 12}, {**C, "price": None})
    below = "What the source says under a hand edit has changed in"
    assert [sentence for _, sentence in told(table.store)] == [
        f"shop: 0 new, 0 changed, 0 gone. {below} 1 row; its cells stay.",
        f"shop: 0 new, 1 changed, 0 gone. {below} 2 rows; their cells stay.",
        "shop: 0 new, 1 changed, 0 gone.",
        f"shop: 0 new, 0 changed, 0 gone. {below} 1 row; its cells stay.",
    ]


def test_a_cell_that_shows_what_it_did_is_said_to_stay() -> None:
    cells = {"price": {"before": 7, "after": 7}, "title": {"before": "Lamp", "after": None}}
    assert [*described({"kind": "updated", "changed": cells})] == [
        "price: stays 7, while what the source says has changed",
        "title: Lamp → (empty)",
    ]
    assert "price: 7" in described({"kind": "created", "changed": cells})


def test_failures_are_told_once_until_a_run_is_accepted(table: Table, notify: Notify) -> None:
    notify()
    for _ in range(4):
        fail(table)
    assert kinds_told(table.store) == ["failing"]
    assert told(table.store)[0][1].startswith("2 Runs of shop in a row were not accepted. The last")
    table.take(A)
    assert told(table.store)[1:] == [
        ("recovered", "shop is well again: a Run was accepted, after 4 Runs that were not."),
        ("changes", "shop: 1 new, 0 changed, 0 gone."),
    ]
    fail(table)
    fail(table)
    assert kinds_told(table.store)[3:] == ["failing"]


@pytest.mark.parametrize(("threshold", "failures"), [(1, 1), (3, 3)])
def test_a_notice_says_after_how_many_failures(
    table: Table, notify: Notify, threshold: int, failures: int
) -> None:
    notify(threshold=threshold)
    for _ in range(failures - 1):
        fail(table)
    assert told(table.store) == []
    fail(table)
    assert kinds_told(table.store) == ["failing"]


def test_a_held_run_is_told_at_once_and_its_acceptance_too(table: Table, notify: Notify) -> None:
    notify()
    table.take(*MANY)
    held = table.take(A)
    assert held["status"] == "held"
    assert told(table.store)[1][0] == "failing"
    assert told(table.store)[1][1].startswith("A Run of shop is held for you to look at: 30 of 30")
    runs.accept(table.store, "local", ids.RunId(ids.raw_id(held["id"])))
    assert told(table.store)[2:] == [
        ("recovered", "shop is well again: a Run was accepted, after 1 Run that was not."),
        ("changes", "shop: 1 new, 0 changed, 30 gone."),
    ]


def test_an_accepted_run_that_looks_odd_is_told(table: Table, notify: Notify) -> None:
    notify(kinds=["odd"])
    table.take_pages([A], [B], [C])
    table.take_pages([A], [B, C])
    (kind, sentence), *more = told(table.store)
    assert (kind, more) == ("odd", [])
    assert sentence.startswith("A Run of shop was accepted, but looks odd: ")


def test_a_run_that_a_person_has_cancelled_is_no_failure(table: Table, notify: Notify) -> None:
    notify(threshold=1)
    attempt = table.begin()
    table.finish(attempt, pages_of(attempt.recipe, [A], ending=StopReason("cancelled")))
    run, _ = runs.enqueue(table.store, "local", table.id)
    runs.cancel(table.store, ids.RunId(ids.raw_id(run)))
    assert told(table.store) == []


def test_runs_that_nobody_could_finish_are_failures(table: Table, notify: Notify) -> None:
    notify(threshold=1)
    attempt = table.begin()
    with table.store.writing() as writer:
        writer.execute("UPDATE runs SET lease_until = 0, attempt = 3")
        writer.execute("UPDATE runs SET lease_owner = 'elsewhere/1/1'")
    interruptions.reap_expired_leases(table.store)
    assert kinds_told(table.store) == ["failing"]
    table.take(A)
    attempt = table.begin()
    damaged = Damaged("datasets", table.id, "columns")
    attempts.give_up(table.store, attempt.run, damaged, attempt.fence)
    run, _ = runs.enqueue(table.store, "local", table.id)
    attempts.give_up(table.store, ids.RunId(ids.raw_id(run)), damaged)
    assert kinds_told(table.store) == ["failing", "recovered", "changes", "failing"]


def test_a_notice_hears_of_its_kinds_its_datasets_and_its_owner_only(
    table: Table, notify: Notify
) -> None:
    other = Table(table.store, made.declared("other"))
    mine = notify("mine", datasets=[table.id], kinds=["changes"])
    failing = notify("failing", kinds=["failing"])
    bobs = notify("bobs", owner="bob")
    table.take(A)
    other.take(A)
    for _ in range(2):
        fail(table)
    assert kinds_told(table.store, mine) == ["changes"]
    assert kinds_told(table.store, failing) == ["failing"]
    assert kinds_told(table.store, bobs) == []


def test_silence_is_told_once_until_a_run_is_accepted(
    table: Table, notify: Notify, clock: Clock
) -> None:
    notify(kinds=["silent"], silent_for=ids.Micros(2 * HOUR * 1_000_000))
    table.take(A)
    clock(HOUR)
    notifying.tell_silence(table.store)
    assert told(table.store) == []
    clock(3 * HOUR)
    notifying.tell_silence(table.store)
    notifying.tell_silence(table.store)
    ((kind, sentence),) = told(table.store)
    assert kind == "silent"
    assert sentence.startswith("No Run of shop was accepted since 2")
    table.take(A)
    notifying.tell_silence(table.store)
    clock(6 * HOUR)
    notifying.tell_silence(table.store)
    assert kinds_told(table.store) == ["silent", "silent"]


def test_silence_of_several_notices_counts_from_the_last_accepted_run(
    table: Table, notify: Notify, clock: Clock
) -> None:
    short, long = (
        notify(name, kinds=["silent"], silent_for=ids.Micros(hours * HOUR * 1_000_000))
        for name, hours in (("short", 2), ("long", 6))
    )
    table.take(A)
    for hour in range(1, 5):
        clock(hour * HOUR)
        notifying.tell_silence(table.store)
    assert kinds_told(table.store, short) == ["silent"]
    table.take(A)
    clock(7 * HOUR)
    notifying.tell_silence(table.store)
    assert kinds_told(table.store, short) == ["silent", "silent"]
    assert kinds_told(table.store, long) == []
    clock(11 * HOUR)
    notifying.tell_silence(table.store)
    assert kinds_told(table.store, long) == ["silent"]


def test_a_dataset_that_was_paused_is_silent_at_once_if_nothing_was_accepted_meanwhile(
    table: Table, notify: Notify, clock: Clock
) -> None:
    notify(kinds=["silent"], silent_for=ids.Micros(2 * HOUR * 1_000_000))
    table.take(A)
    with table.store.writing() as writer:
        writer.execute("UPDATE datasets SET status = 'paused'")
    clock(3 * HOUR)
    notifying.tell_silence(table.store)
    assert told(table.store) == []
    with table.store.writing() as writer:
        writer.execute("UPDATE datasets SET status = 'active'")
    notifying.tell_silence(table.store)
    assert kinds_told(table.store) == ["silent"]


def test_a_notice_that_is_damaged_keeps_no_other_from_being_told(
    table: Table, notify: Notify, clock: Clock
) -> None:
    silent_for = ids.Micros(2 * HOUR * 1_000_000)
    notify("broken", kinds=["silent"], silent_for=silent_for)
    notify("whole", kinds=["silent"], silent_for=silent_for)
    with table.store.writing() as writer:
        writer.execute("UPDATE notices SET kinds = '[' WHERE name = 'broken'")
    clock(3 * HOUR)
    notifying.tell_silence(table.store)
    assert kinds_told(table.store) == ["silent"]
    # It can be taken away, and no other has to wait for that.
    notify("new")
    subscriptions.remove(table.store, "local", "new")
    subscriptions.remove(table.store, "local", "broken")
    assert [notice.name for notice in subscriptions.listed(table.store, "local").notices] == [
        "whole"
    ]


def test_a_paused_dataset_and_a_new_notice_are_not_silent(
    table: Table, notify: Notify, clock: Clock
) -> None:
    clock(10 * HOUR)
    notify(silent_for=ids.Micros(2 * HOUR * 1_000_000))
    notifying.tell_silence(table.store)
    with table.store.writing() as writer:
        writer.execute("UPDATE datasets SET status = 'paused'")
    clock(20 * HOUR)
    notifying.tell_silence(table.store)
    assert told(table.store) == []


def test_what_is_deleted_takes_its_messages_along(table: Table, notify: Notify) -> None:
    notify("all")
    notify("one", datasets=[table.id])
    table.take(A)
    assert len(told(table.store)) == 2
    subscriptions.remove(table.store, "local", "all")
    assert len(told(table.store)) == 1
    datasets.remove(table.store, "local", table.id)
    assert told(table.store) == []
    assert subscriptions.find(table.store, "local", "one").datasets == [ids.format_uuid(table.id)]
    assert check_store(table.store).problems == []


def test_what_was_delivered_goes_after_30_days_and_what_waits_stays(
    table: Table, notify: Notify, clock: Clock
) -> None:
    notify(kinds=["changes"])
    table.take(A)
    table.take(B)
    with table.store.writing() as writer:
        now = writer.now()
        writer.execute(
            "UPDATE outbox SET status = 'sent', ended_at = :now WHERE sequence = 1", now=now
        )
    clock(31 * 24 * HOUR)
    assert forget_old(table.store)["messages"] == 1
    assert len(told(table.store)) == 1


def test_a_message_that_nobody_would_take_is_damage(table: Table, notify: Notify) -> None:
    notify()
    table.take(A)
    with table.store.writing() as writer:
        writer.execute("UPDATE notice_streams SET due_at = NULL")
    (problem,) = check_store(table.store).problems
    assert problem.endswith("waits in the outbox, and nothing delivers it.")


def test_a_lost_race_tells_nothing(table: Table, notify: Notify, store: Store) -> None:
    notify()
    attempt = table.begin()
    with store.writing() as writer:
        writer.execute("UPDATE runs SET fence = fence + 1")
    with pytest.raises(LostLease):
        attempts.finish(store, attempt, pages_of(attempt.recipe, [A]), AcceptancePolicy())
    assert told(store) == []
