"""What a research Run keeps as it goes: what it knew, its steps, its answers, and its plan.

Every write is fenced: an attempt that has lost its Run writes nothing more, and raises LostLease.
"""

from __future__ import annotations

from msgspec import DecodeError, Raw, Struct, json

from livedata.model import ids
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact, Memory, ResearchStep, Spent
from livedata.model.research.settings import ResearchSettings
from livedata.model.research.stored import (
    DeclaredPlan,
    StoredRecipe,
    attribute_columns,
    with_plan,
)
from livedata.model.run import KEPT_FOR
from livedata.services.attempts import Attempt
from livedata.services.research import days
from livedata.store import datasets, memories, queue, recipes, runs
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.database.store import Store
from livedata.store.datasets import LockedDataset
from livedata.store.research import artifacts, attempts, entities, usage

ANSWERS = frozenset({"planning.output", "extraction.output"})
"""The kinds of artifacts that may answer the same question again."""


NO_LIMITS = ResearchSettings()


class _Answer(Struct):
    """The body of an answer; without it the call has failed."""

    answer: Raw = Raw(b"")


def memory(
    store: Store, attempt: Attempt, harness_version: str, settings: ResearchSettings = NO_LIMITS
) -> Memory:
    """What is known as an attempt begins, kept with the attempt for its replay."""
    recipe = ResearchRecipe.of(attempt.recipe)
    with store.writing() as writer:
        queue.hold(writer, attempt.run, attempt.fence)
        datasets.lock_dataset(writer, attempt.dataset)
        known = Memory(
            entities.known(writer, attempt.dataset),
            memories.known_rows(writer, attempt.dataset, recipe),
            _spent(writer, attempt.run),
            fresh=queue.is_fresh(writer, attempt.run),
            day=days.budget(writer, attempt.owner, settings) if settings.has_day else None,
        )
        now = writer.now()
        key = memories.keep(writer, attempt.dataset, known, now)
        attempts.add(writer, attempt.run, attempt.id, harness_version, key, now)
    return known


def record(store: Store, attempt: Attempt, step: ResearchStep) -> None:
    """Keep a step that has ended, with its facts, artifacts and calls. Raises LostLease."""
    step_id = ids.raw_id(step.id)
    with store.writing() as writer:
        queue.hold(writer, attempt.run, attempt.fence)
        # Locked too: what the dataset keeps of old answers is let go of under its lock.
        datasets.lock_dataset(writer, attempt.dataset)
        now = writer.now()
        attempts.add_step(writer, attempt.dataset, attempt.run, attempt.id, step)
        for artifact in step.artifacts:
            answered = _answered(writer, attempt.dataset, artifact, step, now)
            artifacts.add(
                writer, attempt.dataset, attempt.run, attempt.id, step_id, artifact, now, answered
            )
        for took in step.calls:
            usage.add_call(writer, attempt.run, attempt.id, step_id, step.phase, took, now)


def recall(
    store: Store, attempt: Attempt, kind: str, request_digest: str, *, fresh: bool = False
) -> str | None:
    """The body of a valid answer to just this request, if the dataset had one within 30 days.

    If `fresh`, only of this Run: what a lost attempt was answered is not asked for again.
    """
    with store.reading() as reader:
        begun = runs.times(reader, attempt.run)[0]
        since = begun if fresh else Micros(reader.now() - KEPT_FOR)
        recalled = artifacts.recall(reader, attempt.dataset, kind, request_digest, since)
    return None if recalled is None else recalled[0]


def pin(store: Store, attempt: Attempt, plan: str) -> ResearchRecipe:
    """Pin the plan of the first Run: the next recipe, the next schema, and the columns.

    This stays, also if the Run is not accepted (rules 14.2). Raises LostLease.
    """
    declared = json.decode(plan, type=DeclaredPlan)
    with store.writing() as writer:
        queue.hold(writer, attempt.run, attempt.fence)
        dataset = datasets.lock_dataset(writer, attempt.dataset)
        version, stored = recipes.source(writer, attempt.dataset)
        recipe: StoredRecipe = stored  # type: ignore[assignment]  # the recipe of this attempt
        if recipe["plan"] is None:
            version = _pin(writer, dataset, recipe, declared)
        recipes.follow(writer, attempt.run, version)
        pinned = datasets.lock_dataset(writer, attempt.dataset).ref.fields
        compiled = recipes.pinned(writer, attempt.dataset, pinned, version)
    return ResearchRecipe.of(compiled)


def _pin(writer: Writer, dataset: LockedDataset, recipe: StoredRecipe, plan: DeclaredPlan) -> int:
    """Write the recipe of a plan with its columns; the version of it."""
    fields = dataset.ref.fields
    added = attribute_columns(plan, fields.names)
    columns = [*fields.columns.values(), *added]
    name = fields.columns[recipe["fields"]["name"]]
    # A label that a person has given stays.
    if name["label"] == "Name":
        name["label"] = plan["nameLabel"]
    now = max(ids.now(), datasets.updated_at(writer, dataset.id))
    schema = dataset.schema_version + 1
    recipes.add_schema(writer, dataset.id, schema, columns, now)
    datasets.change(
        writer,
        dataset.id,
        columns=dump(columns),
        field_ids=dump([*fields.ids, *(column["id"] for column in added)]),
        schema_version=schema,
    )
    return recipes.add_recipe(writer, dataset.id, with_plan(recipe, plan, added), now)


def _spent(reader: Reader, run: RunId) -> Spent:
    """What the earlier attempts at a Run have used; calls that did not tell, at their worst."""
    calls = [call.usage for call in usage.calls_of(reader, run)]
    tokens = sum(
        call.most_tokens or (call.input_tokens or 0) + (call.output_tokens or 0) for call in calls
    )
    usd = sum(call.most_usd or call.usd or 0.0 for call in calls)
    return Spent(attempts.pages_asked(reader, run), tokens, usd)


def _answered(
    reader: Reader, dataset: DatasetId, artifact: Artifact, step: ResearchStep, now: Micros
) -> Micros | None:
    """When the answer in an artifact was given; None if it answers nothing."""
    if artifact.kind not in ANSWERS or not _is_answer(artifact.body):
        return None
    if step.calls:
        return now
    # Nobody was asked: this is an answer from before, and it does not become younger.
    since = Micros(now - KEPT_FOR)
    earlier = artifacts.recall(reader, dataset, artifact.kind, artifact.request_digest, since)
    return now if earlier is None else earlier[1]


def _is_answer(body: str) -> bool:
    try:
        return bool(json.decode(body, type=_Answer).answer)
    except DecodeError:
        return False
