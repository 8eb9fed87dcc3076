"""A Run from its queue to its end: one at a time, one holder, all of its end or none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from livedata.model.errors import Conflict, LostLease, NotFound, NotYet, RunInProgress
from livedata.model.harvest import Ending, Harvest, PageFailure
from livedata.model.run import FailureReason
from livedata.rules.cells import read_cell
from livedata.services import attempts, lookup, runs
from livedata.services.attempts import Attempt
from livedata.store import ids
from livedata.store.engine import Store
from livedata.store.writes import runs as run_writes
from tests import made
from tests.services.table import A, B, C, Table, pages_of

OWN = ("runs", "attempts", "held_outputs")
"""The tables of which some belong to a Run itself."""


def test_a_run_is_queued_with_no_checks_and_no_times(table: Table) -> None:
    run, left = runs.enqueue(table.store, "local", table.id)
    queued = lookup.run(table.store, "local", ids.raw_id(run))
    assert (queued["status"], queued["checks"], queued["error"]) == ("queued", [], None)
    assert (queued["startedAt"], queued["completedAt"], left) == (None, None, 1000)


@pytest.mark.parametrize("started", [False, True])
def test_a_dataset_has_one_open_run(table: Table, started: bool) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    if started:
        attempts.begin(table.store, ids.raw_id(run))
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
    assert attempts.begin(table.store, ids.raw_id(run["id"])) is None


def test_a_site_has_one_running_run(table: Table) -> None:
    other = Table(table.store, made.declared("other"))
    attempt = table.begin()
    run, _ = runs.enqueue(table.store, "local", other.id)
    with pytest.raises(NotYet):
        attempts.begin(table.store, ids.raw_id(run))
    table.finish(attempt, pages_of(attempt.recipe, [A]))
    assert attempts.begin(table.store, ids.raw_id(run)) is not None


def test_a_start_takes_a_lease_and_a_heartbeat_keeps_it(table: Table, clock: Any) -> None:
    attempt = table.begin()
    (held,) = table.dump()["runs"]
    clock(30)
    attempts.heartbeat(table.store, [attempt])
    clock(75)
    attempts.release_lost(table.store)
    assert _status(table, attempt) == "running"
    assert attempts.holder() in held


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
        lambda: attempts.finish(table.store, late, harvest, attempts.Policy()),
        lambda: attempts.give_back(table.store, late),
        lambda: attempts.heartbeat(table.store, [late]),
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
        attempt = attempts.begin(table.store, ids.raw_id(run))
        assert attempt is not None
        numbers.append(attempt.number)
        _crash(table.store, attempt)
    assert attempts.begin(table.store, ids.raw_id(run)) is None
    story = lookup.run_story(table.store, "local", ids.raw_id(run))
    assert numbers == [1, 2, 3]
    assert (story.run["status"], story.run["checks"]) == ("failed", [])
    assert (story.stop["rule"], story.run["error"]) == ("worker_lost", attempts.WORKER_LOST)


def test_a_crash_that_several_runs_share_costs_none_an_attempt(store: Store) -> None:
    tables = [Table(store, _at(f"t{number}")) for number in range(2)]
    fallen = [table.begin() for table in tables]
    for attempt in fallen:
        _crash(store, attempt)
    attempts.release_lost(store)
    assert _columns(store, "status, attempt, alone") == [("queued", 0, 1), ("queued", 0, 1)]
    for attempt in fallen:
        again = attempts.begin(store, attempt.run)
        assert again is not None
        assert again.number == 1
        _crash(store, again)
        attempts.release_lost(store)
    assert _columns(store, "status, attempt") == [("queued", 1), ("queued", 1)]


def test_take_up_takes_the_open_run_of_a_dead_process_and_not_of_a_live_one(table: Table) -> None:
    attempt = table.begin()
    with pytest.raises(RunInProgress):
        runs.take_up(table.store, "local", table.id, "shop")
    _crash(table.store, attempt)
    found = runs.take_up(table.store, "local", table.id, "shop")
    assert (found.run, found.taken_up) == (attempt.run, True)


@pytest.mark.parametrize("rule", ["max_pages", "max_items"])
def test_a_limit_before_the_natural_end_holds_the_run_and_is_never_taken(
    table: Table, rule: Any
) -> None:
    attempt = table.begin()
    run = table.finish(
        attempt, pages_of(attempt.recipe, [A], ending=Ending(rule, "There is more."))
    )
    assert (run["status"], run["error"]) == ("held", "There is more.")
    with pytest.raises(Conflict, match="coverage was incomplete"):
        runs.accept(table.store, "local", attempt.run)


def test_a_limit_with_another_failed_check_fails_and_says_that_check(store: Store) -> None:
    table = Table(store, made.declared(required=["price"]))
    attempt = table.begin()
    ending = Ending("max_pages", "There is more.")
    run = table.finish(attempt, pages_of(attempt.recipe, [C], ending=ending))
    assert run["status"] == "failed"
    assert str(run["error"]).startswith("price is required")


@pytest.mark.parametrize(
    ("pages", "reason", "refusals", "status"),
    [
        (0, "forbidden", 3, "blocked"),
        (0, "forbidden", 2, "failed"),
        (0, "http_error", 3, "failed"),
        (1, "forbidden", 3, "failed"),
    ],
)
def test_blocked_is_only_what_was_refused_from_first_to_last(
    table: Table, pages: int, reason: FailureReason, refusals: int, status: str
) -> None:
    attempt = table.begin()
    found = pages_of(attempt.recipe, [A]).pages[:pages]
    told = Ending("page_failed", "It said no.")
    run = table.finish(attempt, Harvest(found, told, _failure(reason), 3, refusals))
    assert (run["status"], run["error"]) == (status, "It said no.")
    assert (run["checks"] == []) is (status == "blocked")
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_a_cancelled_run_fails_and_nothing_was_judged(table: Table) -> None:
    run = table.finish(table.begin(), Harvest([], Ending("cancelled", "It was cancelled.")))
    assert (run["status"], run["checks"], run["error"]) == ("failed", [], "It was cancelled.")


def test_the_checks_of_a_judged_run_are_all_there_in_order(store: Store) -> None:
    table = Table(store, made.declared(required=["price", "title"]))
    run = table.take(C)
    named = [f"present:{table.fields[name]}" for name in ("title", "price")]
    wanted = ["coverage", "identity", "extraction", "minimum-items", *named]
    assert [check["checkId"] for check in run["checks"]] == wanted
    assert [check["checkId"] for check in run["checks"] if not check["passed"]] == [named[1]]


def test_an_array_recipe_is_held_without_an_attempt_to_execute(table: Table) -> None:
    table.take(A)
    with table.store.writing() as writer:
        writer.execute(text("UPDATE recipes SET source = '[]'"))
    run, _ = runs.enqueue(table.store, "local", table.id)
    rows = table.rows()
    assert attempts.begin(table.store, ids.raw_id(run)) is None
    held = lookup.run(table.store, "local", ids.raw_id(run))
    assert (held["status"], held["checks"], table.rows()) == ("held", [], rows)
    with pytest.raises(Conflict):
        runs.accept(table.store, "local", ids.raw_id(run))


@pytest.mark.parametrize("ending", ["failed", "blocked", "held", "guarded"])
def test_a_run_that_is_not_accepted_leaves_every_other_table_byte_for_byte(
    table: Table, ending: str
) -> None:
    items = _many(20)
    table.take(*items)
    before = table.dump(*OWN)
    attempt = table.begin()
    whole = pages_of(attempt.recipe, items[:5])
    harvest = {
        "failed": replace(whole, ending=Ending("check_failed", "It loops.")),
        "blocked": Harvest([], Ending("page_failed", "No."), _failure("challenge"), 1, 1),
        "held": replace(whole, ending=Ending("max_items", "There is more.")),
        "guarded": whole,
    }[ending]
    run = table.finish(attempt, harvest)
    assert run["status"] == ("held" if ending == "guarded" else ending)
    assert run["error"]
    assert table.dump(*OWN) == before


def test_a_run_stores_at_its_end_what_explains_it(table: Table) -> None:
    run = table.take_pages([A, C], [B])
    story = lookup.run_story(table.store, "local", ids.raw_id(run["id"]))
    assert story.stop == {"rule": "natural_end"}
    assert (story.facts["head"], story.facts["checked"], story.charged) == (3, 2, 2)
    assert [page["items"] for page in story.facts["pages"]] == [2, 1]
    counts = {field["id"]: field for field in story.facts["fields"]}
    price = counts[table.fields["price"]]
    assert (price["populated"], price["notFound"], price["extractionFailed"]) == (2, 1, 0)


def test_an_item_that_cannot_be_read_is_kept_as_offending(table: Table) -> None:
    assert read_cell("3 for 2", "number") == (None, "extraction_failed")
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A, C])
    record = harvest.pages[0].records[1]
    at = record.values.index(None)
    record.reasons[at], record.texts[at] = "extraction_failed", "3 for 2"
    run = table.finish(attempt, harvest)
    story = lookup.run_story(table.store, "local", ids.raw_id(run["id"]))
    (offending,) = story.facts["offending"]
    assert (run["status"], offending["item"], offending["texts"][at]) == ("succeeded", 2, "3 for 2")


def _many(count: int) -> list[dict[str, Any]]:
    return [{**A, "sku": f"K{number:03}"} for number in range(count)]


def _failure(reason: FailureReason) -> PageFailure:
    return PageFailure(1, made.URL, reason, 403, "https://shop.example", "It said no.")


def _at(name: str) -> dict[str, Any]:
    declared: dict[str, Any] = made.declared(name)
    declared["source"]["url"] = f"https://{name}.example/list"
    return declared


def _crash(store: Store, attempt: Attempt) -> None:
    """Let the lease be held by a process that had this one's number and is gone."""
    gone = attempts.holder().rpartition("/")[0] + "/0"
    with store.writing() as writer:
        run_writes.change(writer, attempt.run, lease_owner=gone)


def _columns(store: Store, columns: str) -> list[tuple[Any, ...]]:
    with store.reading() as reader:
        return reader.rows(f"SELECT {columns} FROM runs ORDER BY queued_at")


def _status(table: Table, attempt: Attempt) -> str:
    return lookup.run(table.store, "local", attempt.run)["status"]
