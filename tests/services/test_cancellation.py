"""Cancelling a Run that any process executes: who is told that it ends so is right."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import Conflict, LostLease, NotFound
from livedata.services import attempts, interruptions, leases, queries, runs
from livedata.services.audit.check import check_store
from livedata.services.commit import CANCELLED, AcceptancePolicy
from livedata.services.run_report import run_progress
from livedata.store import queue
from livedata.store import runs as stored_runs
from tests import made
from tests.services.research_table import ACME, ResearchTable, found_on
from tests.services.table import A, B, Table, pages_of
from tests.services.test_leases import begun, lapse
from tests.services.test_races import at_once

if TYPE_CHECKING:
    from livedata.services.attempts import Attempt
    from livedata.store.database.store import Store

ROUNDS = 20
WITHOUT_RUNS = ("runs", "attempts")


def cancel(store: Store, run: ids.RunId, owner: str = "local") -> bool:
    """Cancel a Run; whether it has ended by that."""
    return interruptions.cancel(store, owner, run)


def queued(table: Table) -> ids.RunId:
    """A Run that waits."""
    run, _ = runs.enqueue(table.store, "local", table.id)
    return ids.RunId(ids.raw_id(run))


def end(store: Store, run: ids.RunId) -> tuple[str, str | None, str, int]:
    """The status of a Run, its sentence, its rule, and what was charged."""
    report = queries.run_report(store, "local", run)
    return report.run["status"], report.run["error"], report.stop.get("rule", ""), report.charged


def assert_cancelled(store: Store, run: ids.RunId) -> None:
    problem = CANCELLED.problem
    assert problem is not None
    assert end(store, run) == ("failed", sentence(problem), "cancelled", 0)
    assert queries.run(store, "local", run)["checks"] == []
    assert check_store(store).problems == []


def waits_for(store: Store, run: ids.RunId) -> str | None:
    """The code of what a Run waits for."""
    with store.reading() as reader:
        progress = run_progress(reader, run)
    assert progress is not None
    return progress.waits.code if progress.waits else None


def test_a_run_that_waits_ends_at_once(table: Table) -> None:
    run = queued(table)
    assert cancel(table.store, run)
    assert_cancelled(table.store, run)
    assert attempts.begin(table.store, run) is None


def test_a_run_in_progress_is_asked_to_end_and_writes_nothing_however_it_concludes(
    table: Table,
) -> None:
    table.take(A)
    attempt = table.begin()
    assert interruptions.asked(table.store) == set()
    assert not cancel(table.store, attempt.run)
    assert interruptions.asked(table.store) == {attempt.run}
    before = table.dump(*WITHOUT_RUNS)
    table.finish(attempt, pages_of(attempt.recipe, [A, B]))
    assert_cancelled(table.store, attempt.run)
    assert table.dump(*WITHOUT_RUNS) == before
    assert interruptions.asked(table.store) == set()
    # The next Run is not cancelled with it.
    assert table.take(A, B)["status"] == "succeeded"


def test_a_run_of_research_that_concludes_is_cancelled_too(store: Store) -> None:
    table = ResearchTable(store)
    attempt = table.begin()
    table.remember(attempt)
    assert not cancel(store, attempt.run)
    table.finish(attempt, found_on(attempt, {"Acme": ACME}))
    assert_cancelled(store, attempt.run)
    assert table.rows() == {}


def test_a_run_is_cancelled_once(table: Table) -> None:
    attempt = table.begin()
    cancel(table.store, attempt.run)
    before = table.dump()
    with pytest.raises(Conflict, match="This Run is being cancelled already"):
        cancel(table.store, attempt.run)
    assert table.dump() == before


def test_a_run_that_has_ended_cannot_be_cancelled(table: Table) -> None:
    run = ids.RunId(ids.raw_id(table.take(A)["id"]))
    before = table.dump()
    with pytest.raises(Conflict, match=r"This Run has ended \(succeeded\), so there is nothing"):
        cancel(table.store, run)
    assert table.dump() == before


@pytest.mark.parametrize("started", [False, True])
def test_a_run_of_another_owner_cannot_be_cancelled(table: Table, started: bool) -> None:
    run = table.begin().run if started else queued(table)
    before = table.dump()
    with pytest.raises(NotFound, match="There is no such Run"):
        cancel(table.store, run, "bob")
    assert table.dump() == before


def test_a_run_that_is_given_back_meanwhile_ends(table: Table) -> None:
    attempt = table.begin()
    cancel(table.store, attempt.run)
    attempts.give_back(table.store, attempt)
    assert_cancelled(table.store, attempt.run)


@pytest.mark.parametrize("together", [False, True])
def test_a_run_whose_process_is_lost_ends_and_is_not_taken_up(store: Store, together: bool) -> None:
    names = ["first", "second"] if together else ["first"]
    fallen = [begun(store, name) for name in names]
    cancel(store, fallen[0].run)
    lapse(store, *fallen)
    assert waits_for(store, fallen[0].run) == "cancelling_lost"
    interruptions.reap_expired_leases(store)
    assert_cancelled(store, fallen[0].run)
    for other in fallen[1:]:
        assert waits_for(store, other.run) == "worker"
    with pytest.raises(LostLease):
        finish(store, fallen[0])


def test_a_run_whose_process_is_gone_already_ends_at_once(store: Store) -> None:
    attempt = begun(store, "first")
    gone = leases.lease_holder().rpartition("/")[0] + "/0"
    lapse(store, attempt, holder=gone)
    assert waits_for(store, attempt.run) == "lost"
    assert cancel(store, attempt.run)
    assert_cancelled(store, attempt.run)


def test_whoever_cancels_again_ends_a_run_whose_process_was_lost_since(store: Store) -> None:
    attempt = begun(store, "first")
    assert not cancel(store, attempt.run)
    lapse(store, attempt)
    assert cancel(store, attempt.run)
    assert_cancelled(store, attempt.run)


def test_the_site_of_a_cancelled_run_is_free(table: Table) -> None:
    other = Table(table.store, made.declared("other"))
    attempt, run = table.begin(), queued(other)
    assert waits_for(table.store, run) == "turn"
    cancel(table.store, attempt.run)
    finish(table.store, attempt)
    assert attempts.begin(table.store, run) is not None


def finish(store: Store, attempt: Attempt) -> str:
    """The status with which a Run of two rows ends."""
    harvest = pages_of(attempt.recipe, [A, B])
    return attempts.finish(store, attempt, harvest, AcceptancePolicy())


def test_of_an_end_and_a_cancellation_in_one_moment_one_wins(table: Table) -> None:
    store, ends = table.store, []
    for _ in range(ROUNDS):
        attempt = table.begin()
        before = table.dump(*WITHOUT_RUNS)
        concluded, *asked = at_once(
            [partial(finish, store, attempt), *[partial(cancel, store, attempt.run)] * 3]
        )
        ends.append(concluded)
        if concluded == "failed":
            assert_cancelled(store, attempt.run)
            assert table.dump(*WITHOUT_RUNS) == before
            assert sorted(map(_told, asked)) == ["asked", "refused", "refused"]
        else:
            assert concluded == "succeeded"
            assert [_told(each) for each in asked] == ["refused"] * 3
    assert {"failed", "succeeded"} >= set(ends)
    assert check_store(store).problems == []


def test_of_a_start_and_a_cancellation_in_one_moment_both_know_the_other(table: Table) -> None:
    store = table.store
    for _ in range(ROUNDS):
        run = queued(table)
        attempt, ended = at_once([partial(attempts.begin, store, run), partial(cancel, store, run)])
        # Either it never began, or whoever began it is asked to end it.
        assert (attempt is None) == (ended is True), (attempt, ended)
        if attempt is not None:
            assert finish(store, attempt) == "failed"
        assert_cancelled(store, run)


def _told(answer: Any) -> str:
    if isinstance(answer, Conflict):
        return "refused"
    return {True: "ended", False: "asked"}[answer]


def test_a_run_says_what_it_waits_for(table: Table) -> None:
    store, run = table.store, queued(table)
    other = queued(Table(store, made.declared("other")))
    assert (waits_for(store, run), waits_for(store, other)) == ("worker", "place")
    attempt = attempts.begin(store, run)
    assert attempt is not None
    assert (waits_for(store, run), waits_for(store, other)) == (None, "turn")
    with store.writing() as writer:
        queue.move_turn(writer, run, attempt.fence, None)
    assert waits_for(store, run) == "other_site"
    with store.writing() as writer:
        stored_runs.change(writer, run, lease_until=1, lease_origin=None)
    assert waits_for(store, run) == "lost"
    interruptions.reap_expired_leases(store)
    assert waits_for(store, run) == "retry"
    cancel(store, run)
    with store.reading() as reader:
        assert run_progress(reader, run) is None
