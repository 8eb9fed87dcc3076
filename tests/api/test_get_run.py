from __future__ import annotations

from livedata.model.harvest import StopReason
from livedata.model.ids import DatasetId
from tests import made
from tests.api.person import NOWHERE, Person, raw


def test_a_run_that_was_accepted_says_what_it_did(alice: Person) -> None:
    path = alice.dataset()
    run = alice.get(f"/runs/{alice.take(path)}")["run"]
    assert run["datasetId"] == path.rpartition("/")[2]
    assert run["status"] == "succeeded"
    assert run["error"] is None
    assert run["rowDeltas"] == {"new": 3, "changed": 0, "gone": 0}
    assert [check["checkId"] for check in run["checks"]] == [
        *("coverage", "identity", "extraction", "minimum-items")
    ]
    assert all(check["passed"] for check in run["checks"])
    assert run["queuedAt"] <= run["startedAt"] <= run["completedAt"]


def test_a_run_that_was_not_accepted_says_why(alice: Person) -> None:
    path = alice.dataset()
    ending = StopReason("max_pages", made.GOES_ON)
    made_run = made.take(alice.store, DatasetId(raw(path)), owner="alice", ending=ending)
    run = alice.get(f"/runs/{made_run}")["run"]
    assert run["status"] == "held"
    assert run["error"]
    assert [check["checkId"] for check in run["checks"] if not check["passed"]] == ["coverage"]
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_what_is_not_there_is_404(alice: Person, bob: Person) -> None:
    path = alice.dataset()
    bob.get(f"/runs/{alice.take(path)}", 404)
    for name in (NOWHERE, "x", path.rpartition("/")[2]):
        alice.get(f"/runs/{name}", 404)
