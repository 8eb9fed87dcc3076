"""The tape of a Run, and its replay as it is answered: rows, facts, diagnostics (rules 14.13)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import get_args

from msgspec import json
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.diagnosis.recorded_research import (
    Discovery,
    RecordedResearch,
    ReplayedFact,
    ReplayedRow,
    ReplayMode,
    ReplayReport,
)
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.errors import BadRequest, Conflict, NotFound
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Artifact, ResearchFact, ResearchStep
from livedata.model.run import KEPT_FOR, ResearchStop, Run
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.replay.replay import OtherHarness, Replayed, as_recorded, difference, replay
from livedata.research.replay.tape import FoundRow, Tape
from livedata.rules.diagnosis.areas import report as explained
from livedata.rules.diagnosis.research import areas, entities
from livedata.services.kinds import choice as kinds
from livedata.store import datasets, memories, recipes, rows, runs
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.research import artifacts, attempts
from livedata.store.research.attempts import ResearchAttempt

_STOPS: dict[str, ResearchStop] = {stop: stop for stop in get_args(ResearchStop)}

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of what no store has."""


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
    # Its moment counts too: housekeeping may have taken some of it, and not the rest.
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
        # A Run that has planned is played from its question on, or nobody would ask for a plan.
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


def report(tape: Tape, mode: ReplayMode, *, diff: bool = False) -> ReplayReport:
    """Replay a tape. Raises Conflict for one that another harness recorded, if `mode` is strict."""
    try:
        replayed_run = asyncio.run(replay(tape, mode))
    except OtherHarness as other:
        raise Conflict(
            f"It was recorded by the harness {other.recorded}, and this is {HARNESS_VERSION}: a "
            "strict replay would ask other questions; --mode loose takes the answers as they are."
        ) from None
    recipe = tape.pinned or tape.recipe
    answer: ReplayReport = {
        "runId": None if tape.run is None else tape.run["id"],
        "mode": mode,
        "basis": "replay",
        "harnessVersion": HARNESS_VERSION,
        "identical": replayed_run.identical,
        "digest": replayed_run.outcome.digest,
        "recordedDigest": tape.digest,
        "misses": [
            {"kind": miss.kind, "sourceUrl": miss.source_url, "window": miss.window}
            for miss in replayed_run.misses
        ],
        "rows": list(_rows(replayed_run, recipe)),
        "facts": [_fact(fact) for fact in replayed_run.facts],
        "diagnostics": _diagnostics(_recorded(tape, replayed_run, recipe)),
    }
    if diff:
        answer["diff"] = difference(tape, replayed_run)
    return answer


def _rows(replayed_run: Replayed, recipe: ResearchRecipe) -> Iterator[ReplayedRow]:
    urls = {page.number: page.final_url for page in replayed_run.outcome.pages}
    fields = [field.id for field in recipe.fields]
    for row in replayed_run.outcome.rows:
        cells = list(zip(fields, row.cells, strict=True))
        yield {
            "rowKey": row.key,
            "sourceUrl": urls[row.page],
            "new": row.minted,
            "data": {field: cell.value for field, cell in cells},
            "missingReasons": {field: cell.reason for field, cell in cells if cell.reason},
            "quotes": {field: cell.quote.text for field, cell in cells if cell.quote},
        }


def _fact(fact: ResearchFact) -> ReplayedFact:
    return {
        "stage": fact.stage,
        "code": fact.code,
        "failure": fact.failure,
        "detail": fact.detail,
        "sourceUrl": fact.url,
        "entity": fact.entity,
        "rowKey": fact.key,
        "fieldId": fact.field,
    }


def _recorded(tape: Tape, replayed_run: Replayed, recipe: ResearchRecipe) -> RecordedResearch:
    """The replay as the records of a Run whose output was accepted."""
    recorded = as_recorded(
        tape.run or _no_run(), recipe, tape.memory, replayed_run.facts, replayed_run.outcome
    )
    return replace(
        recorded,
        attempt=tape.attempt,
        harness=HARNESS_VERSION,
        problem=replayed_run.outcome.problem,
        discovery=_discovery(tape),
    )


def _no_run() -> Run:
    """The Run of a tape that was made without a store."""
    return {
        "id": NO_ID,
        "datasetId": NO_ID,
        "status": "succeeded",
        "checks": [],
        "rowDeltas": {"new": 0, "changed": 0, "gone": 0},
        "error": None,
        "queuedAt": "1970-01-01T00:00:00.000Z",
        "startedAt": None,
        "completedAt": None,
    }


def _discovery(tape: Tape) -> Discovery | None:
    for artifact in tape.artifacts:
        if artifact.kind == "search.results":
            return json.decode(artifact.body, type=Discovery)
    return None


def _diagnostics(recorded: RecordedResearch) -> RunDiagnostics:
    """The diagnostics, with the summary of all entities. A replay takes nothing, and no time."""
    diagnostics = explained(areas, recorded, {"observations": {}, "unknowns": []})
    diagnostics["summary"] = entities.summarize(recorded)
    return diagnostics
