"""The tape of a Run: what it recorded, as a replay needs it (rules 14.13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import get_args

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.errors import BadRequest, Conflict, NotFound
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact, ResearchFact, ResearchStep
from livedata.model.run import KEPT_FOR, ResearchStop, Run
from livedata.research.replay.tape import FoundRow, Tape
from livedata.services.kinds import choice as kinds
from livedata.store import datasets, memories, recipes, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.research import artifacts, attempts
from livedata.store.research.attempts import ResearchAttempt

_STOPS: dict[str, ResearchStop] = {stop: stop for stop in get_args(ResearchStop)}


def tape(db: Database, owner: OwnerName, run_id: RunId) -> Tape:
    """The tape of the last attempt at a Run. Raises NotFound, BadRequest and Conflict."""
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        dataset = datasets.ref(reader, owner, DatasetId(ids.raw_id(run["datasetId"])))
        version = runs.recipe_version(reader, run_id)
        recipe = recipes.pinned(reader, dataset.id, dataset.fields, version)
        replayed = None if recipe is None else kinds.of_recipe(recipe).to_replay(recipe)
        if replayed is None:
            raise BadRequest(
                "This Run reads its pages with selectors and asks no model; only Runs of research "
                "are replayed."
            )
        if run["status"] in ("queued", "running"):
            raise Conflict("This Run is not over yet; it can be replayed once it has ended.")
        tried = attempts.all_of(reader, run_id)
        if not tried:
            raise NotFound("This Run recorded nothing: it ended before its research began.")
        return _tape(reader, dataset, run, tried[-1], replayed)


def _tape(
    reader: Reader, dataset: DatasetRef, run: Run, attempt: ResearchAttempt, recipe: ResearchRecipe
) -> Tape:
    run_id = RunId(ids.raw_id(run["id"]))
    known = memories.load(reader, dataset.id, attempt.memory)
    if known is None or attempt.started < reader.now() - KEPT_FOR:
        raise NotFound(
            "What this Run recorded is no longer kept: pages and answers are deleted after 30 "
            "days. A tape that was exported before has all of it."
        )
    recorded = [
        Artifact(
            *(each.id, each.kind, each.source_url, each.body, each.request_digest, each.window),
            each.reused,
        )
        for each in artifacts.recorded(reader, run_id, attempt.raw)
        if each.body is not None
    ]
    planned = any(artifact.kind == "planning.output" for artifact in recorded)
    facts = attempts.recorded_facts(reader, dataset.id, attempt.raw)
    stop, digest = _end(facts)
    if digest is None:
        steps = attempts.steps(reader, attempt.raw)
        stop = _early_stop(steps, facts, runs.facts(reader, run_id)[0].get("rule", ""))
    return Tape(
        harness=attempt.harness_version,
        recipe=replace(recipe, plan=None) if planned else recipe,
        memory=known,
        artifacts=recorded,
        pinned=recipe if planned else None,
        stop=stop,
        digest=digest,
        run=run,
        attempt=attempt.id,
        facts=facts,
        rows=list(_found(reader, dataset, run, recipe, facts)),
    )


def _found(
    reader: Reader,
    dataset: DatasetRef,
    run: Run,
    recipe: ResearchRecipe,
    facts: Sequence[ResearchFact],
) -> Iterator[FoundRow]:
    """The rows that the Run kept, with their cells if it was accepted."""
    head = runs.facts(reader, RunId(ids.raw_id(run["id"])))[1].get("head")
    table = {}
    if run["status"] == "succeeded" and head is not None:
        table = rows.at_run(reader, dataset.id, dataset.fields, head)
    for fact in facts:
        if fact.code == "row_kept" and fact.key is not None:
            row = table.get(fact.key)
            values = None if row is None else _values(row, recipe)
            yield FoundRow(fact.key, fact.entity or "", values)


def _values(row: RowAtRun, recipe: ResearchRecipe) -> list[str | None]:
    values = {cell.field: cell.value for cell in row.cells}
    cells = [values.get(field.id) for field in recipe.fields]
    return [value if isinstance(value, str) else None for value in cells]


def _end(facts: Sequence[ResearchFact]) -> tuple[ResearchStop | None, str | None]:
    """By which rule the harness ended, and the digest of what it found; None if it did not."""
    for fact in facts:
        if fact.code == "outcome_digest":
            rule, _, digest = fact.detail.rpartition(" ")
            return _STOPS.get(rule), digest
    return None, None


def _early_stop(
    steps: Sequence[ResearchStep], facts: Sequence[ResearchFact], rule: str
) -> ResearchStop | None:
    """By which rule a harness ended before it came to rows; `rule` is the one of its Run."""
    if any(step.status == "cancelled" and step.phase != "accept" for step in steps):
        return "cancelled" if rule == "cancelled" else "deadline"
    # No plan was asked for: it did not fit the limit of money at the price of then.
    codes = {fact.code for fact in facts}
    return "cost_limit" if "cost_limit" in codes else None
