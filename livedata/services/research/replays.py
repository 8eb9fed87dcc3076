"""A replay as it is answered: rows, facts, and diagnostics that rest on them (rules 14.13)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from msgspec import json
from msgspec.structs import replace

from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.diagnosis.replayed import (
    ReplayedFact,
    ReplayedRow,
    ReplayMode,
    ReplayReport,
)
from livedata.model.errors import Conflict
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchFact
from livedata.model.run import Run
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.replay.replay import OtherHarness, Replayed, as_recorded, difference, replay
from livedata.research.replay.tape import Tape
from livedata.rules.diagnosis.areas import report as explained
from livedata.rules.diagnosis.research import areas, entities

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of what no store has."""


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
