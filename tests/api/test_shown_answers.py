"""docs/api.md shows the answer of each endpoint, in the shape in which it really comes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.api.everything import ROUTES, World, record_artifact

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.api.person import Person

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"
_SHOWN = re.compile(
    r"^### `(\w+ /v1[^`]*)`\n\n(\d{3})\b.*?^```json\n(.*?)^```", re.MULTILINE | re.DOTALL
)
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def answers(world: World, store: Store) -> dict[str, tuple[int, Any]]:
    """The status and the body of each endpoint; those that change nothing are asked first."""
    result = {}
    for method, template in sorted(ROUTES, key=lambda route: (route[0] != "GET", _is_late(route))):
        # Only a Run of research has one.
        instead = record_artifact(store) if template.endswith("{artifactId}") else {}
        body = world.body_of(method, template)
        sent = {} if body is None else {"json": body}
        answer = world.person.ask(method, world.path_of(template, **instead), **sent)
        result[f"{method} {template}"] = answer.status_code, answer.get_json()
    return result


def _is_late(route: tuple[str, str]) -> bool:
    return route[1].endswith("{artifactId}")


def is_like(said: Any, real: Any) -> bool:
    """Whether both have the same names, and the same kinds of values behind them.

    Each entry of a list that is said, or of an object by ids, is like one that there really is.
    """
    if isinstance(said, dict) and isinstance(real, dict) and not any(map(_ID.fullmatch, real)):
        return said.keys() == real.keys() and all(is_like(said[name], real[name]) for name in said)
    if isinstance(said, dict | list) and type(said) is type(real):
        some, others = (each.values() if isinstance(each, dict) else each for each in (said, real))
        return bool(some) == bool(others) and all(
            any(is_like(item, other) for other in others) for item in some
        )
    return type(said) is type(real)


def shown() -> dict[str, tuple[int, Any]]:
    """What the page shows of each endpoint."""
    examples = _SHOWN.findall(PAGE.read_text())
    return {name: (int(status), json.loads(body)) for name, status, body in examples}


def test_the_page_shows_the_answer_of_each_endpoint(alice: Person, store: Store) -> None:
    said, real = shown(), answers(World(alice), store)
    assert said.keys() == real.keys()
    for name, (status, body) in real.items():
        assert said[name][0] == status, name
        assert is_like(said[name][1], body), (name, body)


def test_an_answer_that_has_changed_is_found() -> None:
    real = {"data": [{"id": 1, "at": None}, {"id": 2, "at": "now"}], "next": None}
    assert is_like({"data": [{"id": 5, "at": "then"}], "next": None}, real)
    assert not is_like({"data": [{"id": 5}], "next": None}, real)
    assert not is_like({"data": [{"id": "5", "at": None}], "next": None}, real)
    assert not is_like({"data": [], "next": None}, real)
    assert not is_like({"data": [{"id": 5, "at": None}]}, real)
