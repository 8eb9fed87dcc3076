"""Who may see what: interface 5, for each endpoint."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata.api.auth import KeyUsageRecorder
from livedata.model.ids import KeyId, Micros
from livedata.services import accounts, queries
from livedata.store.database.store import Store
from tests.api.everything import NAMES, ROUTES, World
from tests.api.person import NOWHERE, Person
from tests.patience import AT_ONCE

if TYPE_CHECKING:
    from flask.testing import FlaskClient

pytestmark = pytest.mark.one_database

ADDRESSING = [route for route in ROUTES if "{" in route[1]]


@pytest.fixture
def world(alice: Person) -> World:
    return World(alice)


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_request_without_a_valid_key_is_401_whatever_it_asks(
    world: World, store: Store, route: tuple[str, str]
) -> None:
    key = world.person.key
    revoked = accounts.create_key(store, "alice", None)
    accounts.revoke_key(store, revoked["id"])
    bodies = set()
    # All of these must end alike: an answer that differed would tell a guesser what was right.
    for given in (
        None,
        "",
        "Bearer",
        "Bearer ",
        key,
        f"Basic {key}",
        f"Token {key}",
        f"Bearer {key.upper()}",
        f"Bearer {key}0",
        f"Bearer {key[:-1]}",
        f"Bearer x{key}",
        f"Bearer {key} {key}",
        f"Bearer {key},",
        f"Bearer ld_{'0' * 64}",
        f"Bearer {revoked['key']}",
        "Bearer é",
        f"Bearer {accounts.hash_key(key).hex()}",
    ):
        headers = {} if given is None else {"Authorization": given}
        path = "/v1" + world.path_of(route[1]) + "?unknown=1"
        answer = world.person.client.open(path, method=route[0], headers=headers, data=b"{")
        assert answer.status_code == 401, given
        assert answer.headers["X-Credits-Remaining"] == "0"
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        bodies.add(answer.data)
    assert len(bodies) == 1


@pytest.mark.parametrize("route", ADDRESSING, ids=" ".join)
def test_what_is_not_yours_is_answered_like_what_is_not_there(
    world: World, bob: Person, route: tuple[str, str]
) -> None:
    body = world.body_of(*route)
    sent = {} if body is None else {"json": body}
    foreign = bob.ask(route[0], world.path_of(route[1]), **sent)
    nowhere = world.path_of(route[1], **dict.fromkeys(world.ids, NOWHERE))
    missing = bob.ask(route[0], nowhere, **sent)
    assert (foreign.status_code, foreign.data) == (404, missing.data)
    assert missing.status_code == 404
    assert {name for name, _ in foreign.headers} == {name for name, _ in missing.headers}


@pytest.mark.parametrize("route", ADDRESSING, ids=" ".join)
def test_what_is_inside_another_dataset_of_ones_own_is_not_there(
    world: World, bob: Person, route: tuple[str, str]
) -> None:
    """Bob names his own dataset, and in it the row or artifact of Alice."""
    inner = [name for name in ("rowId", "artifactId") if f"{{{name}}}" in route[1]]
    own = World(bob).ids
    path = world.path_of(route[1], datasetId=own["datasetId"], runId=own["runId"])
    answer = bob.ask(route[0], path, json=world.body_of(*route))
    assert (answer.status_code == 404) == bool(inner)


def test_what_another_owner_did_leaves_no_trace_in_what_one_sees(world: World, bob: Person) -> None:
    World(bob)
    seen = "".join(
        world.ask(route).text
        for route in ROUTES
        if route[0] == "GET" and "artifactId" not in route[1]
    )
    theirs = bob.get("/datasets")["data"][0]
    assert theirs["id"] not in seen
    assert theirs["columns"][0]["id"] not in seen


def test_the_scheme_may_be_written_in_any_case(alice: Person) -> None:
    for scheme in ("bearer", "BEARER", "Bearer "):
        headers = {"Authorization": f"{scheme} {alice.key}"}
        assert alice.client.get("/v1/usage", headers=headers).status_code == 200


def test_a_revoked_key_opens_nothing_from_that_moment_and_others_stay(
    alice: Person, store: Store
) -> None:
    other = accounts.create_key(store, "alice", None)
    headers = {"Authorization": f"Bearer {other['key']}"}
    assert alice.client.get("/v1/usage", headers=headers).status_code == 200
    accounts.revoke_key(store, other["id"])
    assert alice.client.get("/v1/usage", headers=headers).status_code == 401
    alice.get("/usage")


def test_the_last_use_of_a_key_is_kept_at_most_once_a_minute(
    monkeypatch: pytest.MonkeyPatch, alice: Person, store: Store
) -> None:
    written: list[int] = []
    truly = accounts.used_key

    def count(of: Store, key: KeyId, used_at: Micros) -> None:
        truly(of, key, used_at)
        written.append(used_at)

    monkeypatch.setattr(accounts, "used_key", count)
    assert queries.keys(store)[0]["lastUsedAt"] is None
    for _ in range(5):
        alice.get("/usage")
    until = time.monotonic() + 10
    while not written and time.monotonic() < until:
        time.sleep(0.01)
    for _ in range(5):
        alice.get("/usage")
    assert len(written) == 1
    assert queries.keys(store)[0]["lastUsedAt"] is not None


def test_a_request_that_began_before_the_last_use_was_kept_writes_it_not_again(
    monkeypatch: pytest.MonkeyPatch, alice: Person, store: Store
) -> None:
    written: list[int] = []
    monkeypatch.setattr(accounts, "used_key", lambda _store, _key, used_at: written.append(used_at))
    caller = accounts.authenticate(store, alice.key)
    assert caller is not None
    recorder = KeyUsageRecorder(store)
    recorder.note(caller)
    # Until the first one is written: its thread takes one after the other.
    recorder._executor.submit(int).result()
    recorder.note(caller)
    recorder.close()
    assert len(written) == 1


def test_a_read_does_not_wait_for_the_last_use_to_be_kept(alice: Person, store: Store) -> None:
    with store.writing():
        began = time.monotonic()
        alice.get("/usage")
        assert time.monotonic() - began < AT_ONCE


def test_a_key_stands_in_no_answer_log_or_file(
    caplog: pytest.LogCaptureFixture, world: World, tmp_path: Path
) -> None:
    caplog.set_level(logging.DEBUG)
    key = world.person.key
    answers = [world.ask(route) for route in ROUTES]
    answers += [
        world.person.ask("GET", path)
        for path in (f"/datasets/{key}", f"/runs/{key}/trace", f"/{key}")
    ]
    for answer in answers:
        assert key not in answer.text
        assert "SELECT" not in answer.text
    assert len(caplog.records) >= len(answers)
    assert key not in caplog.text
    assert "SELECT" not in caplog.text
    for file in tmp_path.iterdir():
        assert key.encode() not in file.read_bytes(), file
        assert key.removeprefix("ld_").encode() not in file.read_bytes(), file


def test_the_document_the_page_and_the_health_need_no_key(client: FlaskClient) -> None:
    for path in ("/v1/openapi.json", "/v1/docs", "/healthz"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["X-Credits-Remaining"] == "0"


@pytest.mark.sqlite
def test_the_health_is_bad_where_the_store_does_not_answer(
    client: FlaskClient, store: Store, tmp_path: Path
) -> None:
    store.close()
    (tmp_path / "livedata.db").write_bytes(b"nothing that a database says")
    answer = client.get("/healthz")
    assert answer.status_code == 503
    assert str(tmp_path) not in answer.text


def test_the_balance_is_told_wherever_the_key_was_valid(alice: Person) -> None:
    for method, path in (
        *(("GET", "/nowhere"), ("DELETE", "/usage"), ("GET", "/docs"), ("GET", "/openapi.json")),
        ("POST", "/datasets"),
    ):
        answer = alice.ask(method, path, data=b"x")
        assert answer.headers["X-Credits-Remaining"] == "1000", path
        answer = alice.client.open(f"/v1{path}", method=method, data=b"x")
        assert answer.headers["X-Credits-Remaining"] == "0", path
