from __future__ import annotations

import pytest

from tests.api.person import NOWHERE, Person

pytestmark = pytest.mark.one_database


@pytest.fixture
def run(alice: Person) -> str:
    """The path of a Run that was accepted."""
    return f"/runs/{alice.take(alice.dataset())}"


def test_a_run_is_explained_from_what_it_recorded(alice: Person, run: str) -> None:
    explained = alice.get(f"{run}/diagnostics")["diagnostics"]
    assert explained["status"] == "succeeded"
    assert "entity" not in explained
    assert "summary" not in explained


def test_the_summary_and_an_entity_stand_only_where_they_were_asked_for(
    alice: Person, run: str
) -> None:
    assert "summary" in alice.get(f"{run}/diagnostics?summary=true")["diagnostics"]
    assert "summary" not in alice.get(f"{run}/diagnostics?summary=false")["diagnostics"]
    explained = alice.get(f"{run}/diagnostics?entity=A1&field=title&summary=false")["diagnostics"]
    assert explained["entity"]["entity"] == "A1"


def test_an_unknown_entity_is_an_unknown_outcome(alice: Person, run: str) -> None:
    explained = alice.get(f"{run}/diagnostics?entity=nobody")["diagnostics"]
    assert explained["entity"]["outcome"] == "unknown"


@pytest.mark.parametrize(
    "query",
    [
        *("summary=true&entity=A1", "summary=true&entity=A1&field=title", "field=title"),
        *("summary=true&field=title", "summary=yes", "summary=1", "summary=", "summary=True"),
        *("entity=", f"entity={'x' * 201}", "entity=A1&entity=A1", "entity=A1&field="),
        *("entity=A1&field=nothing", f"entity=A1&field={'x' * 201}", "limit=1", "entity=%00"),
    ],
)
def test_a_question_that_is_malformed_is_400(alice: Person, run: str, query: str) -> None:
    alice.get(f"{run}/diagnostics?{query}", 400)


def test_404_goes_before_400(alice: Person, bob: Person, run: str) -> None:
    for query in ("", "?summary=x", "?field=title", "?summary=true&entity=x"):
        alice.get(f"/runs/{NOWHERE}/diagnostics{query}", 404)
        bob.get(f"{run}/diagnostics{query}", 404)
