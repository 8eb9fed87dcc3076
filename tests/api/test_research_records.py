"""The artifacts, the trace and the rows of research over HTTP, for their owner alone."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model import ids
from livedata.services.research import recording
from livedata.store.database.store import Store
from tests.api.person import NOWHERE, Person
from tests.services.research_table import (
    ACME,
    HARNESS,
    PAGE,
    ResearchTable,
    answer,
    artifact_of,
    found_on,
    step_of,
)


@pytest.fixture
def table(store: Store, alice: Person) -> ResearchTable:
    assert alice.get("/datasets")["data"] == []
    return ResearchTable(store, "alice")


def ran(table: ResearchTable) -> str:
    """A Run that was accepted, with one artifact and a step of each kind; its id."""
    attempt = table.begin()
    table.remember(attempt)
    recording.record(table.store, attempt, step_of("extract", artifacts=[artifact_of(answer())]))
    recording.record(table.store, attempt, step_of("validate"))
    table.finish(attempt, found_on(attempt, {"Acme": ACME}))
    return ids.format_uuid(attempt.run)


def test_the_index_has_the_recipe_and_no_bodies(alice: Person, table: ResearchTable) -> None:
    run = ran(table)
    index = alice.get(f"/runs/{run}/artifacts")
    assert index.keys() == {"runId", "recipe", "truncated", "artifacts"}
    (listed,) = index["artifacts"]
    assert listed["body"] is None
    assert (listed["kind"], listed["sourceUrl"], listed["truncated"], index["truncated"]) == (
        *("extraction.output", PAGE),
        *(False, False),
    )
    shown = alice.get(f"/runs/{run}/artifacts/{listed['id']}")["artifact"]
    assert shown == {**listed, "body": answer()}
    assert shown["bytes"] == len(answer())
    recipe = index["recipe"]
    assert recipe.keys() == {
        *("kind", "version", "prompt", "url", "identity", "fields", "plan"),
    }
    assert (recipe["kind"], recipe["version"], recipe["identity"]) == ("research", 1, "entity")
    assert recipe["fields"].keys() == {"name", "evidence", "source"}
    fields = table.fields
    assert [each["fieldId"] for each in recipe["plan"]["attributes"]] == [
        *(fields["Founded"], fields["City"])
    ]


def test_a_recipe_without_a_plan_is_null(alice: Person, store: Store) -> None:
    table = ResearchTable(store, "alice", planned=False)
    attempt = table.begin()
    table.remember(attempt)
    assert alice.get(f"/runs/{ids.format_uuid(attempt.run)}/artifacts")["recipe"] is None


def test_only_the_newest_two_hundred_are_listed(alice: Person, table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    many = [artifact_of("{}", asked=str(number)) for number in range(201)]
    recording.record(table.store, attempt, step_of(artifacts=many))
    run = ids.format_uuid(attempt.run)
    index = alice.get(f"/runs/{run}/artifacts")
    assert index["truncated"] is True
    assert [each["id"] for each in index["artifacts"]] == [each.id for each in many[1:]]
    assert alice.get(f"/runs/{run}/artifacts/{many[0].id}")["artifact"]["body"] == "{}"


def test_a_trace_has_the_steps_of_every_attempt_and_the_harness(
    alice: Person, table: ResearchTable
) -> None:
    trace: dict[str, Any] = alice.get(f"/runs/{ran(table)}/trace")["trace"]
    assert trace["harnessVersion"] == HARNESS
    assert [step["phase"] for step in trace["steps"]] == ["extract", "validate", "accept"]
    rows = [step.get("candidateRows") for step in trace["steps"]]
    assert rows == [None, 3, None]
    assert (trace["steps"][1]["rejectedRows"], trace["steps"][1]["matchedRows"]) == (1, 2)
    assert [phase["phase"] for phase in trace["phases"]] == ["extract", "validate", "accept"]


def test_nobody_else_sees_anything_of_it(alice: Person, bob: Person, table: ResearchTable) -> None:
    run = ran(table)
    (listed,) = alice.get(f"/runs/{run}/artifacts")["artifacts"]
    dataset = ids.format_uuid(table.id)
    row = table.rows()["Acme"]["id"]
    for path in (
        *(f"/runs/{run}", f"/runs/{run}/artifacts", f"/runs/{run}/artifacts/{listed['id']}"),
        *(f"/runs/{run}/trace", f"/runs/{run}/diagnostics", f"/datasets/{dataset}"),
        *(f"/datasets/{dataset}/rows", f"/datasets/{dataset}/rows/{row}"),
        *(f"/datasets/{dataset}/changes", f"/datasets/{dataset}/runs"),
    ):
        bob.get(path, 404)
    alice.get(f"/runs/{run}/artifacts/{NOWHERE}", 404)


def test_rows_say_who_they_are_and_observations_that_a_model_read(
    alice: Person, table: ResearchTable
) -> None:
    ran(table)
    dataset = ids.format_uuid(table.id)
    (row,) = alice.get(f"/datasets/{dataset}/rows")["data"]
    assert row["identity"] == {
        "version": 1,
        "key": row["rowKey"],
        "kind": "company",
        "anchor": "acme",
        "aliases": ["Acme"],
    }
    page = alice.get(f"/datasets/{dataset}/changes")
    assert [each["method"] for each in page["observations"]] == ["model"]
