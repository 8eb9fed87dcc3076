"""What is told of a store as a whole: what it gained, who works on it, and which schedules wait."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model import ids
from livedata.model.ids import Micros, RunId
from livedata.services import leases, retention, runs
from livedata.services.audit import vitals
from livedata.services.audit.vitals import Vitals, examine
from livedata.store import datasets, schedules, shown_runs
from livedata.store.audit.vitals import Growth
from tests import made
from tests.services.table import A, B, Table

MINUTE = 60_000_000
DAY = 86_400_000_000


def told(table: Table, late: int = 5 * MINUTE) -> Vitals:
    """What is told of the store."""
    return examine(table.store, late)


def test_a_store_where_nothing_happens(table: Table) -> None:
    seen = told(table)
    assert seen.size > 10_000
    assert (seen.workers, seen.queued, seen.oldest, seen.late, seen.skipping) == (
        *([], 0, None, None),
        [],
    )


def test_a_dataset_gains_what_its_accepted_runs_wrote(table: Table) -> None:
    other = Table(table.store, made.declared("other"))
    table.take(A, B)
    table.take({**A, "price": 11})
    with table.store.writing() as writer:
        ten_days = ids.now() - 10 * DAY
        writer.execute("UPDATE runs SET queued_at = :then", then=ten_days)
    table.take({**A, "price": 12})
    (first, second) = told(table).growth
    assert (first.owner, first.name) == ("local", "shop")
    assert (first.week, first.month) == (Growth(1, 1), Growth(3, 5))
    assert (second.name, second.month) == (other.dataset["name"], Growth(0, 0))


def test_what_was_gained_is_counted_of_so_many_runs_at_most(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vitals, "LOOKED_AT", 2)
    table.take(A, B)
    assert told(table).grown_since < ids.now() - 29 * DAY
    for price in (11, 12):
        table.take({**A, "price": price}, B)
    seen = told(table)
    assert seen.growth[0].month == Growth(2, 2)
    assert seen.grown_since > ids.now() - MINUTE


def test_a_dataset_is_in_trouble_while_its_last_run_was_not_accepted(table: Table) -> None:
    def in_trouble() -> list[str]:
        found = [each.status for each in told(table).unaccepted]
        with table.store.reading() as reader:
            assert len(shown_runs.not_accepted(reader, "local")) == len(found)
        return found

    assert in_trouble() == []
    table.take()
    assert in_trouble() == ["failed"]
    table.take()
    retention.forget_old(table.store)
    # The first one is known to be followed, and so the second one alone may be the last.
    with table.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs WHERE followed") == 1
    assert in_trouble() == ["failed"]
    table.take(A)
    assert in_trouble() == []
    retention.forget_old(table.store)
    assert in_trouble() == []


def test_a_process_with_runs_is_named_by_its_lease(table: Table) -> None:
    began = ids.now()
    table.begin()
    (worker,) = told(table).workers
    assert (worker.holder, worker.runs, worker.live) == (leases.lease_holder(), 1, True)
    assert abs(worker.since - began) < MINUTE
    assert abs(worker.heartbeat - began) < MINUTE
    with table.store.writing() as writer:
        writer.execute("UPDATE runs SET lease_owner = 'elsewhere/1/1', lease_until = 1")
    (worker,) = told(table).workers
    assert (worker.holder, worker.live) == ("elsewhere/1/1", False)


def test_what_waits_and_since_when(table: Table) -> None:
    before = ids.now()
    runs.enqueue(table.store, "local", table.id)
    seen = told(table)
    assert seen.queued == 1
    assert seen.oldest is not None
    assert abs(seen.oldest - before) < MINUTE


def test_a_fire_that_nobody_took_is_late_after_the_given_time(table: Table) -> None:
    due = Micros(ids.now() - 10 * MINUTE)
    with table.store.writing() as writer:
        datasets.change(writer, table.id, status="active", schedule="0 6 * * *", next_run_at=due)
    late = told(table).late
    assert late is not None
    assert (late.count, late.name, late.due_at) == (1, "shop", due)
    assert told(table, 20 * MINUTE).late is None


def test_fires_that_were_skipped_in_a_row_are_told_until_a_run_comes(table: Table) -> None:
    now = ids.now()
    with table.store.writing() as writer:
        datasets.change(writer, table.id, status="active", schedule="* * * * *", next_run_at=now)
        schedules.skip(writer, table.id, Micros(now - 2), "run_waiting")
    # Once a fire is skipped whenever a Run takes longer than the time between two.
    assert told(table).skipping == []
    with table.store.writing() as writer:
        schedules.skip(writer, table.id, Micros(now - 1), "no_credits")
    (skipping,) = told(table).skipping
    assert (skipping.name, skipping.count, skipping.reason) == ("shop", 2, "no_credits")
    assert skipping.last == now - 1
    table.take(A)
    assert told(table).skipping == []


def test_the_first_fire_without_credits_is_told(table: Table) -> None:
    now = ids.now()
    with table.store.writing() as writer:
        datasets.change(writer, table.id, status="active", schedule="* * * * *", next_run_at=now)
        schedules.skip(writer, table.id, Micros(now - 1), "no_credits")
    (skipping,) = told(table).skipping
    assert (skipping.name, skipping.count, skipping.reason) == ("shop", 1, "no_credits")


MANY = [{**A, "sku": f"M{number}"} for number in range(30)]
ENDS: dict[str, Callable[[Table], object]] = {
    "accepted": lambda table: table.take(*MANY),
    "failed": lambda table: table.take(),
    "held": lambda table: table.take(A),
    "cancelled": lambda table: runs.cancel(table.store, queued(table)),
    "paused": lambda table: pause(table),
}


def queued(table: Table) -> RunId:
    return RunId(ids.raw_id(runs.enqueue(table.store, "local", table.id)[0]))


def pause(table: Table) -> None:
    with table.store.writing() as writer:
        datasets.change(writer, table.id, status="paused")


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ([], None),
        (["accepted"], None),
        # It has only ever failed.
        (["failed"], "failed"),
        (["failed", "failed"], "failed"),
        (["failed", "accepted"], None),
        # One that was read before, and fails once, may well be read again tomorrow.
        (["accepted", "failed"], None),
        (["accepted", "failed", "failed"], "failed"),
        (["failed", "failed", "accepted", "failed"], None),
        (["accepted", "failed", "failed", "accepted"], None),
        (["accepted", "held"], "held"),
        (["accepted", "held", "failed"], "failed"),
        # That a person cancelled a Run says nothing of the site.
        (["cancelled"], None),
        (["accepted", "held", "paused"], None),
    ],
)
def test_a_dataset_that_is_held_or_fails_again_and_again_is_told(
    table: Table, ends: list[str], status: str | None
) -> None:
    for end in ends:
        ENDS[end](table)
    seen = told(table).unaccepted
    assert [each.status for each in seen] == ([] if status is None else [status])
