"""A client that is generated of the OpenAPI document understands every answer."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import httpx
import orjson
import pytest

from livedata.api.openapi import document
from livedata.store.database.store import Store
from tests.api.contract import ENDPOINTS
from tests.api.everything import NAMES, ROUTES, World, record_artifact
from tests.api.person import NOWHERE, Person

if TYPE_CHECKING:
    from flask import Flask

pytestmark = [pytest.mark.slow, pytest.mark.one_database]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The client that openapi-python-client makes of the document."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(orjson.dumps(document()))
    # It would format the code with a program of its own, which nobody here reads.
    (folder / "config.yaml").write_text("post_hooks: []\n")
    options = ("--meta", "none", "--fail-on-warning", "--path", "openapi.json")
    ended = subprocess.run(
        [
            *(Path(sys.executable).parent / "openapi-python-client", "generate", *options),
            *("--config", "config.yaml", "--output-path", "shop_client"),
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("shop_client")


@pytest.fixture
def world(alice: Person, store: Store) -> World:
    world = World(alice)
    world.ids |= record_artifact(store)
    return world


class Generated:
    """Calls the functions of the generated package, with Alice's key or another."""

    def __init__(self, package: ModuleType, app: Flask, key: str) -> None:
        self._package = package
        headers = {"Authorization": f"Bearer {key}"}
        transport = httpx.WSGITransport(app=app)
        self.client = package.Client(base_url="http://shop.example").set_httpx_client(
            httpx.Client(transport=transport, base_url="http://shop.example", headers=headers)
        )

    def call(self, operation: str, ids: list[str], body: Any = None, **more: Any) -> Any:
        """The response of an operation; a body is given as JSON."""
        function = importlib.import_module(f"{self._package.__name__}.api.default.{operation}")
        if body is not None:
            more["body"] = function._get_kwargs.__globals__[self._shape(operation)].from_dict(body)
        return function.sync_detailed(*ids, client=self.client, **more)

    @staticmethod
    def _shape(operation: str) -> str:
        return "".join(word.capitalize() for word in operation.split("_"))


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_a_generated_client_sends_every_request_and_reads_its_answer(
    package: ModuleType, app: Flask, world: World, route: tuple[str, str]
) -> None:
    operation = document()["paths"][route[1]][route[0].lower()]
    ids = [world.ids[part[1:-1]] for part in route[1].split("/") if part.startswith("{")]
    client = Generated(package, app, world.person.key)
    answer = client.call(operation["operationId"], ids, world.body_of(*route))
    assert answer.status_code == ENDPOINTS[route].status, answer.content
    assert same(answer.parsed.to_dict(), orjson.loads(answer.content))


def test_a_generated_client_reads_errors_and_what_is_not_modified(
    package: ModuleType, app: Flask, world: World
) -> None:
    client = Generated(package, app, world.person.key)
    error = client.call("get_dataset", [NOWHERE]).parsed
    assert (type(error).__name__, error.error.code) == ("ErrorAnswer", "not_found")
    stranger = Generated(package, app, "ld_0").call("get_usage", []).parsed
    assert stranger.error.code == "unauthenticated"
    ids = [world.ids["datasetId"]]
    tag = client.call("list_rows", ids, limit=2).headers["ETag"]
    again = client.call("list_rows", ids, limit=2, if_none_match=tag)
    assert (again.status_code, again.parsed) == (304, None)
    runs = [client.call("create_run", ids, idempotency_key="nightly").parsed for _ in range(2)]
    assert runs[0].run_id == runs[1].run_id


def same(each: Any, other: Any) -> bool:
    """Whether two values are equal, except for the way in which moments are written."""
    if isinstance(each, dict) and isinstance(other, dict):
        return each.keys() == other.keys() and all(same(each[key], other[key]) for key in each)
    if isinstance(each, list) and isinstance(other, list):
        return len(each) == len(other) and all(map(same, each, other))
    return bool(each == other) or _moment(each) == _moment(other) is not None


def _moment(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return None
