"""A replay as it is answered: rows, facts, and diagnostics that rest on them (rules 14.13)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import json
from msgspec.structs import replace

from livedata.model.dataset import Column
from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.errors import Conflict
from livedata.model.research.memory import KnownRow
from livedata.model.research.outcome import ResearchedRow
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import Fact
from livedata.model.research.replayed import (
    ReplayedFact,
    ReplayedRow,
    ReplayMode,
    ReplayReport,
)
from livedata.model.run import Run
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.replay.difference import difference, values_of
from livedata.research.replay.replay import OtherHarness, Replayed, replay
from livedata.research.replay.tape import Tape
from livedata.rules.diagnosis.research import areas, diagnosis, ending

NO_ID = "00000000-0000-0000-0000-000000000000"
"""The id of what no store has."""


def report(tape: Tape, mode: ReplayMode, *, diff: bool = False) -> ReplayReport:
    """Replay a tape. Raises Conflict for one that another harness recorded, if `mode` is strict."""
    try:
        replayed = asyncio.run(replay(tape, mode))
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
        "identical": replayed.identical,
        "digest": replayed.outcome.digest,
        "recordedDigest": tape.digest,
        "misses": [
            {"kind": miss.kind, "sourceUrl": miss.source_url, "window": miss.window}
            for miss in replayed.misses
        ],
        "rows": list(_rows(tape, replayed, recipe)),
        "facts": [_fact(fact) for fact in replayed.facts],
        "diagnostics": _diagnostics(_recorded(tape, replayed, recipe)),
    }
    if diff:
        answer["diff"] = difference(tape, replayed)
    return answer


def _rows(tape: Tape, replayed: Replayed, recipe: ResearchRecipe) -> Iterator[ReplayedRow]:
    urls = {page.number: page.final_url for page in replayed.outcome.pages}
    known = {row.key: row for row in tape.memory.rows}
    fields = [field.id for field in recipe.fields]
    for row in replayed.outcome.rows:
        cells = list(zip(fields, row.cells, strict=True))
        yield {
            "rowKey": row.key,
            "sourceUrl": urls[row.page],
            "new": row.minted,
            "data": dict(zip(fields, values_of(row, known.get(row.key)), strict=True)),
            "missingReasons": {field: cell.reason for field, cell in cells if cell.reason},
            "quotes": {field: cell.quote.text for field, cell in cells if cell.quote},
        }


def _fact(fact: Fact) -> ReplayedFact:
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


def _recorded(tape: Tape, replayed: Replayed, recipe: ResearchRecipe) -> RecordedResearch:
    """The replay as the records of its Run, which ended as it did."""
    outcome, run = replayed.outcome, tape.run or _no_run()
    return RecordedResearch(
        run=run,
        attempt=tape.attempt,
        stop={"rule": outcome.stop, "inputs": outcome.inputs},
        facts=replayed.facts,
        recipe=recipe,
        columns=[_column(recipe, place) for place in range(len(recipe.fields))],
        basis="replay",
        harness=HARNESS_VERSION,
        problem=outcome.problem,
        discovery=_discovery(tape),
        known=tape.memory,
        rows={row.key: row for row in _table(tape, replayed, recipe, run)},
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


def _column(recipe: ResearchRecipe, place: int) -> Column:
    field = recipe.fields[place]
    return {
        "id": field.id,
        "label": field.label,
        "ownership": "collected",
        "name": field.name,
        "type": "url" if field == recipe.source else "string",
        "key": field == recipe.name,
    }


def _discovery(tape: Tape) -> Discovery | None:
    for artifact in tape.artifacts:
        if artifact.kind == "search.results":
            return json.decode(artifact.body, type=Discovery)
    return None


def _table(tape: Tape, replayed: Replayed, recipe: ResearchRecipe, run: Run) -> Iterator[RowAtRun]:
    """The table as the rows of the replay would leave it."""
    fields = [field.id for field in recipe.fields]
    gone = set(replayed.outcome.gone)
    for known in tape.memory.rows:
        cells = [
            CellAtRun(field, cell.value, cell.reason, None)
            for field, cell in zip(fields, known.cells, strict=False)
        ]
        row = RowAtRun(known.key, known.key, known.presence, known.key, None, cells)
        yield replace(row, presence="missing", by=run["id"]) if known.key in gone else row
    before = {known.key: known for known in tape.memory.rows}
    for found in replayed.outcome.rows:
        yield _written(found, before.get(found.key), fields, run)


def _written(
    row: ResearchedRow, known: KnownRow | None, fields: Sequence[str], run: Run
) -> RowAtRun:
    """A row that was found, as written by the Run only if that changes what is known."""
    values = values_of(row, known)
    stands = known is not None and known.presence == "present"
    same = stands and known is not None and [cell.value for cell in known.cells] == values
    cells = [
        CellAtRun(field, value, None if value is not None else cell.reason or "unknown", None)
        for field, value, cell in zip(fields, values, row.cells, strict=True)
    ]
    return RowAtRun(row.key, row.key, "present", row.key, None if same else run["id"], cells)


def _diagnostics(recorded: RecordedResearch) -> RunDiagnostics:
    """The diagnostics, with the summary of all entities. A replay takes nothing, and no time."""
    return {
        "runId": recorded.run["id"],
        "datasetId": recorded.run["datasetId"],
        "status": recorded.run["status"],
        "attemptId": recorded.attempt,
        "harnessVersion": recorded.harness,
        "request": areas.request(recorded),
        "sources": areas.sources(recorded),
        "cells": areas.cells(recorded),
        "reconciliation": areas.reconciliation(recorded),
        "completion": ending.completion(recorded),
        "cost": {"observations": {}, "unknowns": []},
        "summary": diagnosis.summarize(recorded),
    }
