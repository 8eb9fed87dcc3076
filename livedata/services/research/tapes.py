"""The tape of a Run: what it recorded, as a replay needs it (rules 14.13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.errors import BadRequest, NotFound
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.research.outcome import ResearchStop
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact, Fact
from livedata.research.replay.tape import Tape
from livedata.store import datasets, recipes, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.research import artifacts, attempts

_STOPS: dict[str, ResearchStop] = {stop: stop for stop in get_args(ResearchStop)}


def tape(db: Database, owner: OwnerName, run_id: RunId) -> Tape:
    """The tape of the last attempt at a Run. Raises NotFound and BadRequest."""
    with db.reading() as reader:
        run = runs.get(reader, owner, run_id)
        dataset = datasets.ref(reader, owner, DatasetId(ids.raw_id(run["datasetId"])))
        version = runs.recipe_version(reader, run_id)
        recipe = recipes.pinned(reader, dataset.id, dataset.fields, version)
        if not isinstance(recipe, ResearchRecipe):
            raise BadRequest(
                "This Run reads its pages with selectors and asks no model; only Runs of research "
                "are replayed."
            )
        return _tape(reader, dataset.id, run_id, recipe)


def _tape(reader: Reader, dataset: DatasetId, run: RunId, recipe: ResearchRecipe) -> Tape:
    begun = attempts.all_of(reader, run)
    known = attempts.memory(reader, dataset, begun[-1]) if begun else None
    if known is None:
        raise NotFound(
            "What this Run recorded is not kept any more: bodies are let go of after 30 days."
        )
    attempt = begun[-1]
    recorded = [
        Artifact(each.id, each.kind, each.source_url, each.body, each.request_digest, each.window)
        for each in artifacts.recorded(reader, run, attempt.raw)
        if each.body is not None
    ]
    planned = any(artifact.kind == "planning.output" for artifact in recorded)
    stop, digest = _end(attempts.facts(attempts.steps(reader, attempt.raw)))
    return Tape(
        harness=attempt.harness_version,
        recipe=replace(recipe, plan=None) if planned else recipe,
        memory=known,
        artifacts=recorded,
        pinned=recipe if planned else None,
        stop=stop,
        digest=digest,
        run=ids.format_uuid(run),
    )


def _end(facts: Sequence[Fact]) -> tuple[ResearchStop | None, str | None]:
    """By which rule the harness ended, and the digest of what it found; None if it did not."""
    for fact in facts:
        if fact.code == "outcome_digest":
            rule, _, digest = fact.detail.rpartition(" ")
            return _STOPS.get(rule), digest
    return None, None
