from __future__ import annotations

from tests.api.person import NOWHERE, Person


def test_a_trace_belongs_to_its_run(alice: Person) -> None:
    path = alice.dataset()
    run = alice.take(path)
    trace = alice.get(f"/runs/{run}/trace")["trace"]
    assert trace["runId"] == run
    assert trace["datasetId"] == path.rpartition("/")[2]
    assert trace["status"] == "succeeded"
    assert trace["harnessVersion"] is trace["discovery"] is None


def test_a_run_that_waits_has_taken_no_time(alice: Person) -> None:
    run = alice.post(f"{alice.dataset()}/runs", status=202)["runId"]
    trace = alice.get(f"/runs/{run}/trace")["trace"]
    assert trace["status"] == "queued"
    assert trace["wallMs"] is None


def test_what_is_not_there_is_404(alice: Person, bob: Person) -> None:
    bob.get(f"/runs/{alice.take(alice.dataset())}/trace", 404)
    alice.get(f"/runs/{NOWHERE}/trace", 404)
    alice.get("/runs/x/trace", 404)
