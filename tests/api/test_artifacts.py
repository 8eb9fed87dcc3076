from __future__ import annotations

from tests.api.person import NOWHERE, Person


def test_a_deterministic_run_has_no_artifacts_and_no_recipe(alice: Person) -> None:
    run = alice.take(alice.dataset())
    index = alice.get(f"/runs/{run}/artifacts")
    assert index == {"runId": run, "recipe": None, "truncated": False, "artifacts": []}


def test_an_artifact_that_is_not_there_is_404(alice: Person) -> None:
    run = alice.take(alice.dataset())
    alice.get(f"/runs/{run}/artifacts/{NOWHERE}", 404)
    alice.get(f"/runs/{run}/artifacts/x", 404)


def test_the_artifacts_of_what_is_not_there_are_404(alice: Person, bob: Person) -> None:
    run = alice.take(alice.dataset())
    for who, which in ((alice, NOWHERE), (alice, "x"), (bob, run)):
        who.get(f"/runs/{which}/artifacts", 404)
        who.get(f"/runs/{which}/artifacts/{NOWHERE}", 404)


def test_a_query_is_ignored(alice: Person) -> None:
    alice.get(f"/runs/{alice.take(alice.dataset())}/artifacts?limit=x")
