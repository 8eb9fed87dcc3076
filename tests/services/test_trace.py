from __future__ import annotations

from collections.abc import Callable
from typing import get_type_hints

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.harvest import PageFailure, Step
from livedata.model.run import KEPT_FOR, PhaseTotal, RunTrace, TraceStep
from livedata.services import attempts, diagnostics, leases, runs
from livedata.services.attempts import Attempt
from livedata.store import attempts as attempt_store
from livedata.store import runs as stored_runs
from tests.crawling import Crawling, shop_source
from tests.made import REFUSED
from tests.services.table import A, Table, pages_of
from tests.shop import shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

SECOND = 1_000_000
OPTIONAL = {
    "candidateRows",
    "rejectedRows",
    "matchedRows",
    "durationMs",
    "sourceUrl",
    "readFailure",
}


def traced(table: Table, run: ids.RunId) -> RunTrace:
    return diagnostics.trace(table.store, "local", run)


def finished(table: Table, *steps: Step) -> ids.RunId:
    """A Run that ended with these steps."""
    attempt = table.begin()
    harvest = replace(pages_of(attempt.recipe, [A]), steps=list(steps))
    table.finish(attempt, harvest)
    return attempt.run


def reads(count: int) -> list[Step]:
    """Steps of reading that took 1, 2, 3... ms."""
    start = ids.now()
    return [
        Step("read", start + n * SECOND, start + n * SECOND + (n + 1) * 1000, "succeeded")
        for n in range(count)
    ]


def test_a_trace_has_the_fields_of_the_interface(crawling: Crawling, site: Site) -> None:
    site.pages(shop(some_items(12)))
    site.page("/page/3.html", "no", status=403)
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run = crawling.run(dataset, allow=site.host)
    trace = diagnostics.trace(crawling.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert set(trace) == set(get_type_hints(RunTrace))
    for step in trace["steps"]:
        assert (
            set(get_type_hints(TraceStep)) - OPTIONAL <= set(step) <= set(get_type_hints(TraceStep))
        )
    for total in trace["phases"]:
        assert set(total) == set(get_type_hints(PhaseTotal))
    assert [phase["phase"] for phase in trace["phases"]] == [
        "pin",
        "read",
        "extract",
        "validate",
        "accept",
    ]
    assert (trace["harnessVersion"], trace["discovery"], trace["truncated"]) == (None, None, False)
    (failed,) = [step for step in trace["steps"] if step["status"] == "failed"]
    assert failed["sourceUrl"] == site.at("/page/3.html")
    assert failed["readFailure"] == {"reason": "forbidden", "status": 403, "finalUrl": site.url}


def test_step_ids_differ_and_stay_the_same(table: Table) -> None:
    run = finished(table, *reads(300))
    first = [step["stepId"] for step in traced(table, run)["steps"]]
    assert len(set(first)) == 302
    assert [step["stepId"] for step in traced(table, run)["steps"]] == first
    assert all(len(ids.raw_id(each)) == 16 and each[14] == "7" for each in first)


def test_phase_totals_add_up_the_steps(table: Table) -> None:
    phases = traced(table, finished(table, *reads(4)))["phases"]
    assert phases[0] == {"phase": "read", "count": 4, "totalMs": 10, "maxMs": 4}


def test_only_the_latest_1000_events_are_told(table: Table) -> None:
    trace = traced(table, finished(table, *reads(600)))
    assert trace["truncated"]
    assert len(trace["steps"]) == 500
    assert [step["phase"] for step in trace["steps"][-2:]] == ["validate", "accept"]


def test_the_address_of_a_step_is_a_uri(table: Table) -> None:
    step = Step("read", ids.now(), ids.now(), "succeeded", "https://ä.example/ü?q=a b")
    (traced_step, *_) = traced(table, finished(table, step))["steps"]
    assert traced_step["sourceUrl"] == "https://xn--4ca.example/%C3%BC?q=a%20b"


# A URI writes an ü with six characters.
@pytest.mark.parametrize("path", ["x" * 2048, "ü" * 1000])
def test_an_address_that_is_too_long_is_left_out(table: Table, path: str) -> None:
    url = f"https://shop.example/{path}"
    step = Step(
        "read", ids.now(), None, "running", url, PageFailure(1, url, "timeout", None, None, REFUSED)
    )
    traced_step = traced(table, finished(table, step))["steps"][0]
    assert "sourceUrl" not in traced_step
    assert "durationMs" not in traced_step
    assert traced_step["readFailure"] == {"reason": "timeout", "status": None, "finalUrl": None}


def test_a_queued_run_has_waited_for_an_unknown_time(table: Table) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    trace = traced(table, ids.RunId(ids.raw_id(run)))
    assert (trace["queueMs"], trace["wallMs"], trace["steps"]) == (None, None, [])
    assert (trace["status"], trace["truncated"]) == ("queued", False)


def begun_again(table: Table, first: Attempt) -> Attempt:
    """The next attempt at a Run whose process is gone."""
    with table.store.writing() as writer:
        stored_runs.change(writer, first.run, lease_owner=f"{leases.lease_holder()}x")
    second = attempts.begin(table.store, first.run)
    assert second is not None
    return second


def test_the_wait_runs_to_the_first_start_and_the_wall_time_from_it(
    table: Table, clock: Callable[[int], None]
) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    clock(10)
    first = attempts.begin(table.store, ids.RunId(ids.raw_id(run)))
    assert first is not None
    assert traced(table, first.run)["wallMs"] is None
    clock(30)
    second = begun_again(table, first)
    clock(35)
    table.finish(second, replace(pages_of(second.recipe, [A]), steps=reads(1)))
    trace = traced(table, first.run)
    assert 10_000 <= (trace["queueMs"] or 0) < 11_000
    assert 25_000 <= (trace["wallMs"] or 0) < 26_000
    assert {step["attemptId"] for step in trace["steps"]} == {ids.format_uuid(second.id)}


@pytest.mark.parametrize("forgotten", [True, False])
def test_after_30_days_the_steps_are_gone(
    table: Table, clock: Callable[[int], None], *, forgotten: bool
) -> None:
    run = finished(table, *reads(2))
    clock(31 * 86_400)
    if forgotten:
        with table.store.writing() as writer:
            attempt_store.OLD_STEPS.forget(writer, ids.now() - KEPT_FOR, 1)
    trace = traced(table, run)
    assert (trace["steps"], trace["phases"], trace["truncated"]) == ([], [], True)
    assert trace["wallMs"] is not None


def test_a_clock_that_was_set_back_took_no_time(table: Table, clock: Callable[[int], None]) -> None:
    attempt = table.begin()
    clock(-60)
    table.finish(attempt, pages_of(attempt.recipe, [A]))
    assert traced(table, attempt.run)["wallMs"] == 0


def test_a_deterministic_run_has_no_artifacts(table: Table) -> None:
    run = table.take(A)
    index = diagnostics.artifact_index(table.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert index == {"runId": run["id"], "recipe": None, "truncated": False, "artifacts": []}
    with pytest.raises(NotFound, match="artifact"):
        diagnostics.artifact(table.store, "local", ids.RunId(ids.raw_id(run["id"])), ids.new_id())


def test_a_run_of_another_owner_is_not_there(table: Table) -> None:
    run = ids.RunId(ids.raw_id(table.take(A)["id"]))
    with pytest.raises(NotFound):
        diagnostics.trace(table.store, "bob", run)
    with pytest.raises(NotFound):
        diagnostics.artifact_index(table.store, "bob", run)
    with pytest.raises(NotFound):
        diagnostics.artifact(table.store, "bob", run, run)
    with pytest.raises(NotFound):
        diagnostics.diagnostics(table.store, "bob", run)
