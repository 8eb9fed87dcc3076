"""A Run from its queue to its end: one at a time, one holder, all of its end or none."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import LostLease, NotFound, NotYet, RunInProgress
from livedata.services import attempts, interruptions, leases, queries, runs
from livedata.services.attempts import Attempt
from livedata.services.commit import AcceptancePolicy
from livedata.store import runs as stored_runs
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, Table, pages_of


def test_a_run_is_queued_with_no_checks_and_no_times(table: Table) -> None:
    run, left = runs.enqueue(table.store, "local", table.id)
    queued = queries.run(table.store, "local", ids.RunId(ids.raw_id(run)))
    assert (queued["status"], queued["checks"], queued["error"]) == ("queued", [], None)
    assert (queued["startedAt"], queued["completedAt"], left) == (None, None, 1000)


@pytest.mark.parametrize("started", [False, True])
def test_a_dataset_has_one_open_run(table: Table, started: bool) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    if started:
        attempts.begin(table.store, ids.RunId(ids.raw_id(run)))
    before = table.dump()
    with pytest.raises(RunInProgress):
        runs.enqueue(table.store, "local", table.id)
    assert table.dump() == before


def test_a_run_of_another_owners_dataset_cannot_be_asked_for(table: Table) -> None:
    with pytest.raises(NotFound):
        runs.enqueue(table.store, "bob", table.id)


def test_a_run_that_is_executed_is_not_begun_again(table: Table) -> None:
    attempt = table.begin()
    with pytest.raises(NotYet):
        attempts.begin(table.store, attempt.run)


def test_a_run_that_has_ended_is_not_begun_again(table: Table) -> None:
    run = table.take(A)
    assert attempts.begin(table.store, ids.RunId(ids.raw_id(run["id"]))) is None


def test_a_site_has_one_running_run(table: Table) -> None:
    other = Table(table.store, made.declared("other"))
    attempt = table.begin()
    run, _ = runs.enqueue(table.store, "local", other.id)
    with pytest.raises(NotYet):
        attempts.begin(table.store, ids.RunId(ids.raw_id(run)))
    table.finish(attempt, pages_of(attempt.recipe, [A]))
    assert attempts.begin(table.store, ids.RunId(ids.raw_id(run))) is not None


def test_a_start_takes_a_lease_and_a_heartbeat_keeps_it(table: Table, clock: Any) -> None:
    attempt = table.begin()
    (held,) = table.dump()["runs"]
    clock(30)
    attempts.heartbeat(table.store, attempt)
    clock(75)
    interruptions.reap_expired_leases(table.store)
    assert _status(table, attempt) == "running"
    assert leases.lease_holder() in held


def test_a_lease_that_is_over_is_taken_back_and_the_attempt_counts(
    table: Table, clock: Any
) -> None:
    attempt = table.begin()
    clock(61)
    again = attempts.begin(table.store, attempt.run)
    assert again is not None
    assert (again.number, again.fence) == (2, attempt.fence + 1)


def test_a_holder_that_is_gone_loses_its_run_at_once(table: Table) -> None:
    attempt = table.begin()
    _crash(table.store, attempt)
    again = attempts.begin(table.store, attempt.run)
    assert again is not None
    assert again.number == 2


def test_who_lost_the_lease_writes_nothing(table: Table, clock: Any) -> None:
    late = table.begin()
    clock(61)
    holder = attempts.begin(table.store, late.run)
    assert holder is not None
    before = table.dump()
    harvest = pages_of(late.recipe, [A])
    for act in (
        lambda: attempts.finish(table.store, late, harvest, AcceptancePolicy()),
        lambda: attempts.give_back(table.store, late),
        lambda: attempts.heartbeat(table.store, late),
    ):
        with pytest.raises(LostLease):
            act()
    assert table.dump() == before
    assert table.finish(holder, harvest)["status"] == "succeeded"
    assert table.dataset["rowCount"] == 1


def test_an_attempt_ends_once(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A])
    table.finish(attempt, harvest)
    before = table.dump()
    with pytest.raises(LostLease):
        table.finish(attempt, pages_of(attempt.recipe, [B]))
    assert table.dump() == before


def test_a_run_that_is_given_back_is_queued_and_has_used_no_attempt(table: Table) -> None:
    attempt = table.begin()
    for _ in range(5):
        attempts.give_back(table.store, attempt)
        assert _status(table, attempt) == "queued"
        again = attempts.begin(table.store, attempt.run)
        assert again is not None
        attempt = again
    assert attempt.number == 1


def test_a_third_crash_fails_the_run_with_the_reason(table: Table) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    numbers = []
    for _ in range(3):
        attempt = attempts.begin(table.store, ids.RunId(ids.raw_id(run)))
        assert attempt is not None
        numbers.append(attempt.number)
        _crash(table.store, attempt)
    assert attempts.begin(table.store, ids.RunId(ids.raw_id(run))) is None
    story = queries.run_report(table.store, "local", ids.RunId(ids.raw_id(run)))
    assert numbers == [1, 2, 3]
    assert (story.run["status"], story.run["checks"]) == ("failed", [])
    assert (story.stop["rule"], story.run["error"]) == (
        "worker_lost",
        sentence(interruptions.WORKER_LOST),
    )


def test_a_crash_that_several_runs_share_costs_none_an_attempt(store: Store) -> None:
    tables = [Table(store, _at(f"t{number}")) for number in range(2)]
    fallen = [table.begin() for table in tables]
    for attempt in fallen:
        _crash(store, attempt)
    interruptions.reap_expired_leases(store)
    assert _columns(store, "status, attempt, alone") == [("queued", 0, 1), ("queued", 0, 1)]
    for attempt in fallen:
        again = attempts.begin(store, attempt.run)
        assert again is not None
        assert again.number == 1
        _crash(store, again)
        interruptions.reap_expired_leases(store)
    assert _columns(store, "status, attempt") == [("queued", 1), ("queued", 1)]


def test_take_up_takes_the_open_run_of_a_dead_process_and_not_of_a_live_one(table: Table) -> None:
    attempt = table.begin()
    with pytest.raises(RunInProgress):
        runs.take_up(table.store, "local", table.id, "shop")
    _crash(table.store, attempt)
    queued = runs.take_up(table.store, "local", table.id, "shop")
    assert queued.run == attempt.run
    # Not by the moment at which it was queued: that is of another clock than this machine's.
    assert queued.taken_up
    runs.cancel(table.store, queued.run)
    assert not runs.take_up(table.store, "local", table.id, "shop").taken_up


def _at(name: str) -> dict[str, Any]:
    declared: dict[str, Any] = made.declared(name)
    declared["source"]["url"] = f"https://{name}.example/list"
    return declared


def _crash(store: Store, attempt: Attempt) -> None:
    """Let the lease be held by a process that had this one's number and is gone."""
    gone = leases.lease_holder().rpartition("/")[0] + "/0"
    with store.writing() as writer:
        stored_runs.change(writer, attempt.run, lease_owner=gone)


def _columns(store: Store, columns: str) -> list[tuple[Any, ...]]:
    with store.reading() as reader:
        return reader.rows(f"SELECT {columns} FROM runs ORDER BY queued_at")


def _status(table: Table, attempt: Attempt) -> str:
    return queries.run(table.store, "local", attempt.run)["status"]
