from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from livedata.services import accounts
from livedata.store.database import sqlite
from livedata.store.database.store import Store
from tests.api.person import NOWHERE, Person, body_of


def test_a_run_is_queued_and_costs_nothing_yet(alice: Person) -> None:
    path = alice.dataset()
    answer = alice.ask("POST", f"{path}/runs")
    queued = body_of(answer, 202)
    assert queued["creditsRemaining"] == 1000
    assert answer.headers["X-Credits-Remaining"] == "1000"
    run = alice.get(f"/runs/{queued['runId']}")["run"]
    assert run["status"] == "queued"
    assert run["startedAt"] is run["completedAt"] is run["error"] is None
    assert alice.get("/usage")["balance"] == 1000


@pytest.mark.parametrize("kind", ["text/plain", "application/json", ""])
def test_body_content_type_and_query_are_ignored(alice: Person, kind: str) -> None:
    path = f"{alice.dataset()}/runs?limit=x"
    answer = alice.ask("POST", path, data=b"{not json", content_type=kind)
    assert answer.status_code == 202


@pytest.mark.parametrize("status", ["active", "paused"])
def test_a_dataset_of_any_status_can_be_run(alice: Person, status: str) -> None:
    path = alice.dataset()
    alice.patch(path, {"status": status})
    alice.post(f"{path}/runs", status=202)


def test_a_second_run_of_a_dataset_is_409(alice: Person) -> None:
    path, other = alice.dataset("one"), alice.dataset("two")
    alice.post(f"{path}/runs", status=202)
    assert alice.post(f"{path}/runs", status=409)["error"]["code"] == "run_in_progress"
    alice.post(f"{other}/runs", status=202)
    assert len(alice.get(f"{path}/runs")["data"]) == 1


def test_without_credits_it_is_402_but_404_and_409_go_before(alice: Person, store: Store) -> None:
    path, other = alice.dataset("one"), alice.dataset("two")
    alice.post(f"{path}/runs", status=202)
    accounts.grant(store, "alice", -1000)
    assert alice.post(f"{other}/runs", status=402)["error"]["code"] == "insufficient_credits"
    alice.post(f"{path}/runs", status=409)
    alice.post(f"/datasets/{NOWHERE}/runs", status=404)
    assert alice.get(f"{other}/runs")["data"] == []


def test_a_store_that_stays_locked_is_503_and_nothing_is_queued(
    monkeypatch: pytest.MonkeyPatch, alice: Person, store: Store, tmp_path: Path
) -> None:
    path = alice.dataset()
    store.close()
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(tmp_path / "livedata.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    error = alice.post(f"{path}/runs", status=503)["error"]
    assert error["code"] == "queue_unavailable"
    assert str(tmp_path) not in error["message"]
    alice.get(path)
    other.execute("ROLLBACK")
    other.close()
    assert alice.get(f"{path}/runs")["data"] == []
    alice.post(f"{path}/runs", status=202)


def test_what_is_not_there_cannot_be_run(alice: Person, bob: Person) -> None:
    bob.post(f"{alice.dataset()}/runs", status=404)
    alice.post("/datasets/x/runs", status=404)
