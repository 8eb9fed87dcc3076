from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from livedata.model.ids import RunId, format_uuid, raw_id
from livedata.services import accounts, queries, runs
from livedata.store import datasets
from livedata.store.database.postgres import server
from livedata.store.database.sqlite import file as sqlite_file
from livedata.store.database.store import Store
from tests import made
from tests.api.person import NOWHERE, Person, body_of, raw
from tests.api.serving import Serving
from tests.databases import full_disk


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


@contextmanager
def locked(path: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The dataset at `path` is locked, and the store does not wait for long."""
    # The last use of the key is written beside the answer: its connection would wait as ever.
    while queries.keys(store)[0]["lastUsedAt"] is None:
        time.sleep(0.01)
    store.close()
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(server, "LOCK_SECONDS", 0.1)
    with closing(Store(store.url)) as other, other.writing() as writer:
        datasets.lock_dataset(writer, raw(path))
        yield


def test_a_store_that_stays_locked_is_503_and_nothing_is_queued(
    monkeypatch: pytest.MonkeyPatch, alice: Person, store: Store, tmp_path: Path
) -> None:
    path = alice.dataset()
    with locked(path, store, monkeypatch):
        error = alice.post(f"{path}/runs", status=503)["error"]
        assert error["code"] == "queue_unavailable"
        assert str(tmp_path) not in error["message"]
        assert "127.0.0.1" not in error["message"]
        alice.get(path)
    assert alice.get(f"{path}/runs")["data"] == []
    alice.post(f"{path}/runs", status=202)


def test_for_every_other_request_it_is_a_500_and_the_log_says_why(
    monkeypatch: pytest.MonkeyPatch,
    alice: Person,
    store: Store,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = alice.dataset()
    with locked(path, store, monkeypatch):
        answer = alice.ask("PATCH", path, json={"question": "Which?"})
    assert answer.status_code == 500
    (record,) = [each for each in caplog.records if each.levelname == "WARNING"]
    assert answer.headers["X-Request-Id"] in record.getMessage()
    assert f"The store at {store.place} cannot be used: " in record.getMessage()


@pytest.mark.postgres
def test_a_server_whose_disk_is_full_is_said_as_json_until_it_has_room(
    alice: Person, store: Store
) -> None:
    path = alice.dataset()
    with full_disk(store.url, "runs"):
        error = alice.post(f"{path}/runs", status=503)["error"]
        assert error["code"] == "queue_unavailable"
        assert "127.0.0.1" not in error["message"]
    with full_disk(store.url, "datasets"):
        error = alice.patch(path, {"question": "Which?"}, status=500)["error"]
        assert error["code"] == "internal"
    alice.post(f"{path}/runs", status=202)


def test_what_is_not_there_cannot_be_run(alice: Person, bob: Person) -> None:
    bob.post(f"{alice.dataset()}/runs", status=404)
    alice.post("/datasets/x/runs", status=404)


def ask_with_key(alice: Person, path: str, key: str, status: int = 202) -> Any:
    return alice.post(f"{path}/runs", status=status, headers={"Idempotency-Key": key})


def test_the_same_idempotency_key_answers_with_the_first_run(alice: Person, store: Store) -> None:
    path = alice.dataset()
    first = ask_with_key(alice, path, "nightly")
    assert ask_with_key(alice, path, "nightly") == first
    ask_with_key(alice, path, "other", 409)
    alice.post(f"{path}/runs", status=409)
    runs.cancel(store, RunId(raw_id(first["runId"])))
    # Also once the Run has ended, and without credits: the request was answered once.
    accounts.grant(store, "alice", -1000)
    assert ask_with_key(alice, path, "nightly") == {**first, "creditsRemaining": 0}
    assert len(alice.get(f"{path}/runs")["data"]) == 1


def test_an_idempotency_key_is_of_one_dataset_and_known_for_a_day(
    alice: Person, store: Store
) -> None:
    path, other = alice.dataset("one"), alice.dataset("two")
    first = ask_with_key(alice, path, "x" * 5000)
    assert ask_with_key(alice, other, "x" * 5000)["runId"] != first["runId"]
    runs.cancel(store, RunId(raw_id(first["runId"])))
    with store.writing() as writer:
        writer.execute("UPDATE runs SET queued_at = queued_at - :day", day=runs.DAY)
    assert ask_with_key(alice, path, "x" * 5000)["runId"] != first["runId"]


def test_an_empty_idempotency_key_is_none(alice: Person) -> None:
    path = alice.dataset()
    ask_with_key(alice, path, "")
    ask_with_key(alice, path, "", 409)


def test_of_eight_requests_with_one_key_at_once_all_get_the_same_run(
    served: Serving, store: Store
) -> None:
    path = f"/v1/datasets/{format_uuid(made.make_dataset(store, 'alice'))}/runs"

    def ask(_: int) -> tuple[int, bytes]:
        connection = served.connect()
        headers = {"Authorization": f"Bearer {served.key}", "Idempotency-Key": "nightly"}
        connection.request("POST", path, headers=headers)
        answer = connection.getresponse()
        read = answer.status, answer.read()
        connection.close()
        return read

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert answers[0][0] == 202
    assert len(set(answers)) == 1
