from __future__ import annotations

import pytest

from tests.api.person import NOWHERE, Person


def test_a_dataset_names_its_last_run_and_counts_its_rows(alice: Person) -> None:
    path = alice.dataset()
    run = alice.take(path)
    dataset = alice.get(path)["dataset"]
    assert dataset["rowCount"] == 3
    assert dataset["lastRun"]["id"] == run
    assert dataset["lastRun"]["status"] == "succeeded"
    assert dataset["lastRun"]["completedAt"]


def test_an_open_run_is_the_last_one(alice: Person) -> None:
    path = alice.dataset()
    run = alice.post(f"{path}/runs", status=202)["runId"]
    last = {"id": run, "status": "queued", "completedAt": None}
    assert alice.get(path)["dataset"]["lastRun"] == last


def test_an_id_may_be_written_in_any_case(alice: Person) -> None:
    path = alice.dataset()
    upper = path.rpartition("/")[2].upper()
    assert alice.get(f"/datasets/{upper}") == alice.get(path)


@pytest.mark.parametrize(
    "name",
    [
        *(NOWHERE, NOWHERE.replace("-", ""), f"{{{NOWHERE}}}", f"urn:uuid:{NOWHERE}"),
        *("x", "%00", "%FF", "..", f"{NOWHERE}%0A", "shop", "1", "-"),
    ],
)
def test_what_is_not_there_is_404(alice: Person, name: str) -> None:
    alice.dataset("shop")
    alice.get(f"/datasets/{name}", 404)


def test_a_query_is_ignored(alice: Person) -> None:
    alice.get(f"{alice.dataset()}?limit=x&limit=y&%FF")
