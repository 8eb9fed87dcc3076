"""Every endpoint with every status that it declares; each answer is checked by the contract."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from livedata.api import tables
from livedata.model.errors import ResearchUnavailable, StoreUnavailable
from livedata.services import accounts, diagnostics, feed, queries, runs
from livedata.store.database.store import Store
from tests import made
from tests.api.contract import ENDPOINTS, EXTENSIONS, problems, wrong
from tests.api.everything import NAMES, ROUTES, World, record_artifact
from tests.api.kinds import a
from tests.api.person import NOWHERE, Person
from tests.api.tables import TABLES

pytestmark = pytest.mark.one_database

EDIT = "/v1/datasets/{datasetId}/rows/{rowId}"
RUNS = "/v1/datasets/{datasetId}/runs"
PAIRS = [
    (route, status)
    for route in ROUTES
    for status in sorted({ENDPOINTS[route].status, *ENDPOINTS[route].errors})
]


@pytest.fixture
def world(alice: Person) -> World:
    return World(alice)


class Provoker:
    """A sender of requests that end with a wanted status."""

    def __init__(self, world: World, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.store, self.monkeypatch = world, store, monkeypatch

    def status(self, route: tuple[str, str], wanted: int) -> int:
        if wanted < 300:
            if "{artifactId}" in route[1]:
                # Only a Run of research has one.
                self.world.ids |= record_artifact(self.store)
            return self.world.ask(route).status_code
        provoke = getattr(self, f"_{wanted}")
        status: int = provoke(route)
        return status

    def _400(self, route: tuple[str, str]) -> int:
        path = self.world.path_of(route[1]) + "?unknown=1"
        body = self.world.body_of(*route)
        sent = {} if body is None else {"json": body}
        return self.world.person.ask(route[0], path, **sent).status_code

    def _401(self, route: tuple[str, str]) -> int:
        return self.world.ask(route, headers={"Authorization": "Bearer ld_0"}).status_code

    def _402(self, route: tuple[str, str]) -> int:
        accounts.grant(self.store, "alice", -999)  # a Run of the world has cost the first credit
        return self.world.ask(route).status_code

    def _404(self, route: tuple[str, str]) -> int:
        nowhere = self.world.path_of(route[1], **dict.fromkeys(self.world.ids, NOWHERE))
        return self.world.person.ask(route[0], nowhere, json={}).status_code

    def _406(self, route: tuple[str, str]) -> int:
        # As where the part of livedata that writes it is not installed.
        self.monkeypatch.setitem(sys.modules, "pyarrow", None)
        path = f"{self.world.path_of(route[1])}?format=parquet"
        return self.world.person.ask(route[0], path).status_code

    def _409(self, route: tuple[str, str]) -> int:
        person, path = self.world.person, self.world.path_of(route[1])
        if route == ("POST", "/v1/datasets"):
            return person.ask(*_short(route), json=made.declared("world")).status_code
        if route in EXTENSIONS:
            taken = {"name": "world", "prompt": "Which?"}
            return person.ask(*_short(route), json=taken).status_code
        if route == ("POST", RUNS):
            person.post(path, status=202)
            return self.world.ask(route).status_code
        body: dict[str, Any] = {"expectedSchemaVersion": 9, "name": "x"}
        if route[1] == EDIT:
            body = self.world.body_of(*route) | {"expectedRevisionId": NOWHERE}
        return person.ask(route[0], path, json=body).status_code

    def _422(self, route: tuple[str, str]) -> int:
        path = self.world.path_of(route[1])
        if route[0] == "GET":
            return self.world.person.ask("GET", f"{path}?after=99").status_code
        return self.world.person.ask(route[0], path, json={"unknown": 1}).status_code

    def _500(self, route: tuple[str, str]) -> int:
        break_everything(self.monkeypatch, RuntimeError("SELECT hidden FROM inside"))
        return self.world.ask(route).status_code

    def _503(self, route: tuple[str, str]) -> int:
        if route in EXTENSIONS:
            # A store that is locked is a 500 here: no Run was to be queued.
            break_everything(self.monkeypatch, ResearchUnavailable("There is no model."))
            return self.world.ask(route).status_code
        break_everything(self.monkeypatch, StoreUnavailable("The store at /inside is locked."))
        return self.world.ask(route).status_code


def _short(route: tuple[str, str]) -> tuple[str, str]:
    return route[0], route[1].removeprefix("/v1")


def break_everything(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let every query and act raise `error`, except for authentication."""

    def fail(*_: object, **__: object) -> None:
        raise error

    for name in ("dataset", "datasets", "rows", "row", "runs", "run", "usage_page"):
        monkeypatch.setattr(queries, name, fail)
    monkeypatch.setattr(feed, "changes_json", fail)
    monkeypatch.setattr(tables, "serve_table", fail)
    for name in ("trace", "artifact_index", "artifact", "diagnostics"):
        monkeypatch.setattr(diagnostics, name, fail)
    monkeypatch.setattr(Store, "writing", fail)


@pytest.mark.parametrize(
    ("route", "status"), PAIRS, ids=[f"{' '.join(route)} {status}" for route, status in PAIRS]
)
def test_every_status_that_an_endpoint_declares_can_be_had(
    monkeypatch: pytest.MonkeyPatch,
    world: World,
    store: Store,
    route: tuple[str, str],
    status: int,
) -> None:
    assert Provoker(world, store, monkeypatch).status(route, status) == status


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_fault_inside_says_nothing_of_the_inside(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    world: World,
    route: tuple[str, str],
) -> None:
    break_everything(monkeypatch, RuntimeError("SELECT hidden FROM inside"))
    answer = world.ask(route)
    assert answer.status_code == 500
    assert b"hidden" not in answer.data
    failed = [record for record in caplog.records if record.exc_info]
    assert [answer.headers["X-Request-Id"] in record.message for record in failed] == [True]


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_store_that_cannot_be_reached_is_503_only_where_that_is_declared(
    monkeypatch: pytest.MonkeyPatch, world: World, route: tuple[str, str]
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("The store at /inside/livedata.db cannot be used.")

    monkeypatch.setattr(Store, "reading", fail)
    answer = world.ask(route)
    assert answer.status_code == (503 if route == ("POST", RUNS) else 500)
    assert b"/inside" not in answer.data
    assert answer.headers["X-Credits-Remaining"] == "0"


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_method_that_a_path_does_not_know_is_405_with_those_that_it_knows(
    world: World, route: tuple[str, str]
) -> None:
    path = world.path_of(route[1])
    for method in ("DELETE", "PUT", "OPTIONS", "TRACE"):
        answer = world.person.ask(method, path)
        assert answer.status_code == 405
        assert route[0] in answer.headers["Allow"].split(", ")


@pytest.mark.parametrize("route", [r for r in ROUTES if r[0] == "GET"], ids=" ".join)
def test_head_is_get_without_a_body(world: World, store: Store, route: tuple[str, str]) -> None:
    if "{artifactId}" in route[1]:
        world.ids |= record_artifact(store)
    answer = world.person.ask("HEAD", world.path_of(route[1]))
    assert (answer.status_code, answer.data) == (200, b"")


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v2/datasets", "/v1/datasets/", "//v1/usage"]
)
def test_an_unknown_path_is_404(alice: Person, path: str) -> None:
    assert alice.client.get(path).status_code == 404


def test_a_queue_that_cannot_be_reached_accepts_nothing(
    monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise StoreUnavailable("The store at /inside is locked.")

    # Broken inside of the transaction: what it wrote before must be undone.
    with monkeypatch.context() as broken:
        broken.setattr(runs, "_add", fail)
        world.person.post(f"{world.path}/runs", status=503)
    assert len(world.person.get(f"{world.path}/runs")["data"]) == 1


def test_the_judge_finds_a_key_too_many_one_too_few_and_a_wrong_value() -> None:
    run = {"id": NOWHERE, "status": "queued", "completedAt": None}
    assert list(wrong(run, a("RunSummary"), "run")) == []
    for broken in (
        run | {"more": 1},
        {key: value for key, value in run.items() if key != "completedAt"},
        run | {"status": "gone"},
        run | {"id": None},
        run | {"id": NOWHERE.upper()[:-1]},
        run | {"completedAt": "2026-01-01T00:00:00Z"},
    ):
        assert len(list(wrong(broken, a("RunSummary"), "run"))) == 1, broken
    assert problems("GET", "/v1/usage", 409, {"error": {"code": "conflict", "message": "x"}})
    assert problems("GET", "/v1/usage", 401, {"error": {"code": "conflict", "message": "x"}})


def test_every_table_of_the_contract_is_used() -> None:
    used = {declared.answer for declared in ENDPOINTS.values()} | {"ErrorAnswer"}
    waiting = list(used)
    while waiting:
        for rule in TABLES[waiting.pop()].values():
            inner = rule.of or rule
            if inner.table and inner.table not in used:
                used.add(inner.table)
                waiting.append(inner.table)
    assert used == TABLES.keys()
