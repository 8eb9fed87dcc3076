"""What a research Run keeps as it goes: memory, steps, answers, and its plan."""

from __future__ import annotations

import pytest
from msgspec import json

from livedata.model import ids
from livedata.model.errors import LostLease
from livedata.model.ids import RunId
from livedata.model.research.answers import CallUsage
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import LONGEST_BODY, KnownCell, ResearchFact, Spent
from livedata.services import attempts, queries, runs
from livedata.services.audit.check import check_store
from livedata.services.research import recording
from livedata.store import memories
from livedata.store.database.store import Store
from livedata.store.research import artifacts
from livedata.store.research import attempts as kept
from tests.services.conftest import Clock
from tests.services.research_table import (
    ACME,
    PAGE,
    PLAN,
    ResearchTable,
    answer,
    artifact_of,
    found_on,
    key_of,
    step_of,
)

DAY = 86_400


@pytest.fixture
def table(store: Store) -> ResearchTable:
    return ResearchTable(store)


def tables(store: Store, *names: str) -> list[int]:
    """How many records there are in each table."""
    with store.reading() as reader:
        return [reader.value(f"SELECT count(*) FROM {name}") for name in names]


def test_a_new_dataset_knows_nothing(table: ResearchTable) -> None:
    memory = table.remember(table.begin())
    assert (memory.entities, memory.rows, memory.spent) == ([], [], Spent())


def test_the_next_run_knows_rows_with_their_pages_and_who_they_are(table: ResearchTable) -> None:
    table.take({"Acme": {**ACME, "City": None}})
    attempt = table.begin()
    memory = table.remember(attempt)
    (entity,), (row,) = memory.entities, memory.rows
    assert (entity.key, entity.names, entity.aliases) == (key_of("Acme"), ("acme",), ("Acme",))
    assert row.cells == [
        KnownCell("Acme", None, PAGE, "Acme, a maker"),
        KnownCell("Acme, a maker", None, PAGE, "Acme, a maker"),
        KnownCell(PAGE, None, PAGE, "Acme, a maker"),
        KnownCell("1999", None, PAGE, "it says 1999"),
        KnownCell(None, "not_found", None, None),
    ]
    with table.store.reading() as reader:
        (known,) = kept.all_of(reader, attempt.run)
        assert memories.load(reader, table.id, known.memory) == memory


def test_a_step_is_kept_with_its_facts_artifacts_and_calls(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    step = table.record(attempt, "extract", answer())
    with table.store.reading() as reader:
        (loaded,) = kept.steps(reader, attempt.id)
        recorded = kept.recorded_facts(reader, table.id, attempt.id)
        (artifact,) = artifacts.recorded(reader, attempt.run)
    assert (loaded.id, loaded.phase, recorded) == (step.id, "extract", step.facts)
    assert (artifact.id, artifact.body, artifact.window) == (
        *(step.artifacts[0].id, step.artifacts[0].body),
        "0-16000",
    )


def test_facts_name_known_entities_by_their_numbers_and_are_read_with_their_keys(
    table: ResearchTable,
) -> None:
    table.take({"Acme": ACME, "Bolt": ACME})
    table.take({"Acme": ACME, "Cog": ACME})
    attempt = table.begin()
    table.remember(attempt)
    names = ("Acme", "Bolt", "Cog", "Dyn")
    about = [ResearchFact("discovery", "known_source", "x", key=key_of(name)) for name in names]
    recording.record(table.store, attempt, step_of("read", facts=about))
    with table.store.reading() as reader:
        assert kept.recorded_facts(reader, table.id, attempt.id) == about
        packed = reader.value(
            "SELECT facts FROM research_steps WHERE attempt_id = :attempt", attempt=attempt.id
        )
    # The last one has no row yet: it is named by its key.
    told = [fact.key for fact in kept.unpack_facts(packed)]
    assert (sorted(map(str, told[:2])), told[2:]) == (["1", "2"], [3, key_of("Dyn")])


def test_an_answer_that_nobody_was_asked_for_is_recorded_as_reused(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    recording.record(table.store, attempt, step_of(artifacts=[artifact_of(answer())]))
    recording.record(table.store, attempt, step_of(artifacts=[artifact_of(answer())], calls=()))
    with table.store.reading() as reader:
        told = [(each.reused, each.hash) for each in artifacts.recorded(reader, attempt.run)]
    assert [reused for reused, _ in told] == [False, True]
    assert len({key for _, key in told}) == 1
    assert tables(table.store, "artifacts", "bodies") == [2, 2]  # and what the attempt knew


def test_a_body_is_kept_once_however_often_it_is_recorded(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    before = tables(table.store, "bodies")
    for _ in range(3):
        table.record(attempt, "extract", answer())
    assert tables(table.store, "artifacts", "bodies") == [3, before[0] + 1]


def test_an_answer_is_recalled_for_thirty_days_and_a_failure_never(
    table: ResearchTable, clock: Clock
) -> None:
    attempt = table.begin()
    table.remember(attempt)
    asked, failed = artifact_of(answer()), artifact_of('{"failure":"x"}', asked="another")
    recording.record(table.store, attempt, step_of(artifacts=[asked, failed]))
    kind = asked.kind

    def recall(digest: str) -> str | None:
        return recording.recall(table.store, attempt, kind, digest)

    assert recall(asked.request_digest) == asked.body
    assert recall(failed.request_digest) is None
    assert recall("00" * 32) is None
    clock(20 * DAY)
    # Recorded again without a call: the answer is as old as it was.
    recording.record(table.store, attempt, step_of(artifacts=[artifact_of(answer())], calls=()))
    assert recall(asked.request_digest) == asked.body
    clock(31 * DAY)
    assert recall(asked.request_digest) is None


def test_another_dataset_recalls_nothing_of_this_one(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    asked = artifact_of(answer())
    recording.record(table.store, attempt, step_of(artifacts=[asked]))
    other = ResearchTable(table.store, "bob", name="other")
    begun = other.begin()
    assert recording.recall(table.store, begun, asked.kind, asked.request_digest) is None


def test_a_body_that_is_too_long_is_known_by_its_hash_alone(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    long = artifact_of(json.encode({"answer": "x" * LONGEST_BODY}).decode())
    recording.record(table.store, attempt, step_of(artifacts=[long]))
    with table.store.reading() as reader:
        (artifact,) = artifacts.recorded(reader, attempt.run)
    assert (artifact.body, len(artifact.hash)) == (None, 64)
    assert recording.recall(table.store, attempt, long.kind, long.request_digest) is None


def test_an_attempt_that_was_given_back_leaves_its_answers_and_what_it_spent(
    table: ResearchTable,
) -> None:
    attempt = table.begin()
    table.remember(attempt)
    asked = artifact_of(answer())
    recording.record(table.store, attempt, step_of(artifacts=[asked]))
    attempts.give_back(table.store, attempt)
    again = table.begin_again(attempt.run)
    assert again.number == attempt.number
    assert table.remember(again).spent == Spent((), 120, 0.25)
    assert recording.recall(table.store, again, asked.kind, asked.request_digest) == asked.body
    table.finish(again, found_on(again, {"Acme": ACME}))
    assert check_store(table.store).problems == []


def test_a_fresh_run_stays_fresh_and_takes_only_its_own_answers(
    table: ResearchTable, clock: Clock
) -> None:
    before = table.begin()
    table.remember(before)
    old, own = artifact_of(answer()), artifact_of(answer(), asked="another")
    recording.record(table.store, before, step_of(artifacts=[old]))
    table.finish(before, found_on(before, {"Acme": ACME}))
    clock(60)
    attempt = table.begin(fresh=True)
    assert table.remember(attempt).fresh
    recording.record(table.store, attempt, step_of(artifacts=[own]))
    attempts.give_back(table.store, attempt)
    again = table.begin_again(attempt.run)
    assert table.remember(again).fresh

    def recall(digest: str, *, fresh: bool) -> str | None:
        return recording.recall(table.store, again, own.kind, digest, fresh=fresh)

    assert recall(own.request_digest, fresh=True) == own.body
    assert recall(old.request_digest, fresh=True) is None
    assert recall(old.request_digest, fresh=False) == old.body
    table.finish(again, found_on(again, {"Acme": ACME}))
    assert not table.remember(table.begin()).fresh


def test_a_fresh_run_whose_first_attempt_remembered_nothing_stays_fresh(
    table: ResearchTable,
) -> None:
    attempt = table.begin(fresh=True)
    attempts.give_back(table.store, attempt)
    assert table.remember(table.begin_again(attempt.run)).fresh


def test_an_open_run_becomes_fresh_for_the_attempts_that_begin_from_then_on(
    table: ResearchTable,
) -> None:
    attempt = table.begin()
    assert not table.remember(attempt).fresh
    attempts.give_back(table.store, attempt)
    runs.make_fresh(table.store, attempt.run)
    again = table.begin_again(attempt.run)
    assert table.remember(again).fresh
    table.finish(again, found_on(again, {"Acme": ACME}))
    assert not table.remember(table.begin()).fresh


def test_a_call_that_does_not_tell_what_it_took_counts_at_its_worst(table: ResearchTable) -> None:
    attempt = table.begin()
    table.remember(attempt)
    untold = CallUsage("openai", "m", 1, most_tokens=9_000, most_usd=0.5)
    half_told = CallUsage("openai", "m", 1, 100, most_tokens=9_000)
    search = CallUsage("searxng", search_credits=1)
    recording.record(table.store, attempt, step_of(calls=[untold, half_told, search]))
    attempts.give_back(table.store, attempt)
    again = table.begin_again(attempt.run)
    assert table.remember(again).spent == Spent((), 18_000, 0.5)


def test_an_attempt_that_has_lost_its_run_writes_nothing(table: ResearchTable) -> None:
    late = table.begin()
    table.remember(late)
    attempts.give_back(table.store, late)
    again = table.begin_again(late.run)
    before = tables(table.store, "research_steps", "artifacts", "model_calls", "recipes")
    for write in (
        lambda: recording.record(table.store, late, step_of(artifacts=[artifact_of("{}")])),
        lambda: table.remember(late),
        lambda: recording.pin(table.store, late, json.encode(PLAN).decode()),
        lambda: table.finish(late, found_on(again, {"Acme": ACME})),
    ):
        with pytest.raises(LostLease):
            write()
    after = tables(table.store, "research_steps", "artifacts", "model_calls", "recipes")
    assert after == before


def test_a_plan_is_pinned_with_its_columns_and_stays_although_the_run_fails(store: Store) -> None:
    table = ResearchTable(store, planned=False)
    assert list(table.fields) == ["Name", "Evidence", "Source"]
    attempt = table.begin()
    table.remember(attempt)
    recipe = recording.pin(store, attempt, json.encode(PLAN).decode())
    assert recipe.version == 2
    assert recipe.plan is not None
    assert [each.label for each in recipe.plan.attributes] == ["Founded", "City"]
    assert list(table.fields) == ["Company", "Evidence", "Source", "Founded", "City"]
    assert [column["name"] for column in table.dataset["columns"]][3:] == ["founded", "city"]
    assert table.dataset["schemaVersion"] == 2
    attempts.give_back(store, attempt)
    # The next attempt executes what was pinned, and pins no other plan.
    again = table.begin_again(RunId(attempt.run))
    assert again.recipe == recipe
    assert recording.pin(store, again, json.encode(PLAN).decode()) == recipe
    table.remember(again)
    assert table.finish(again, found_on(again, {"Acme": ACME}))["status"] == "succeeded"
    assert check_store(store).problems == []


def test_columns_are_named_after_their_labels_and_unlike_all_others(store: Store) -> None:
    table = ResearchTable(store, planned=False)
    labels = ["Évidence", "Ort (Stadt)", "年", "2nd name", "ort stadt"]
    attributes = [{"label": label, "description": ""} for label in labels]
    attempt = table.begin()
    recording.pin(store, attempt, json.encode({**PLAN, "attributes": attributes}).decode())
    names = [column["name"] for column in table.dataset["columns"]]
    assert names[3:] == ["evidence_2", "ort_stadt", "field", "field_2nd_name", "ort_stadt_2"]


def test_research_runs_of_two_datasets_do_not_wait_for_each_other(store: Store) -> None:
    first, second = ResearchTable(store), ResearchTable(store, name="others")
    attempt, beside = first.begin(), second.begin()
    assert attempt.site == ids.format_uuid(first.id)
    assert isinstance(beside.recipe, ResearchRecipe)
    assert queries.run(store, "local", beside.run)["status"] == "running"
