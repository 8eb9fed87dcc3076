"""A replay: the harness on what a Run recorded, asking nobody, and how it differs (rules 14.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_research import (
    ChangedCell,
    ChangedCode,
    ChangedRow,
    RecordedResearch,
    ReplayDiff,
    ReplayMode,
)
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchField, ResearchRecipe
from livedata.model.research.record import Memory, ResearchFact
from livedata.model.row import MissingReason
from livedata.model.run import Run
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research
from livedata.research.ports import Ports
from livedata.research.replay.recorded_ports import (
    Miss,
    RecordedModel,
    RecordedSearches,
    RecordedSites,
    Recording,
    ReplayRecorder,
)
from livedata.research.replay.tape import FoundRow, Tape


class OtherHarness(Exception):
    """A strict replay needs the harness that the Run was made by."""

    def __init__(self, recorded: str) -> None:
        super().__init__(recorded)
        self.recorded = recorded


class Replayed(Struct, frozen=True):
    """What a replay found, and what it would have had to ask for."""

    outcome: ResearchOutcome
    facts: list[ResearchFact]
    misses: list[Miss]
    identical: bool


async def replay(tape: Tape, mode: ReplayMode = "strict") -> Replayed:
    """Run a tape again. Raises OtherHarness."""
    if mode == "strict" and tape.harness != HARNESS_VERSION:
        raise OtherHarness(tape.harness)
    recording = Recording(tape, mode)
    recorder = ReplayRecorder(recording)
    ports = Ports(
        model=RecordedModel(recording),
        search=RecordedSearches(recording),
        sites=RecordedSites(recording),
        recorder=recorder,
    )
    outcome = await research(tape.recipe, tape.memory, ports)
    return Replayed(
        outcome=outcome,
        facts=[fact for step in recorder.steps for fact in step.facts],
        misses=recording.misses,
        identical=not recording.misses and outcome.digest == tape.digest,
    )


def difference(tape: Tape, replayed: Replayed) -> ReplayDiff:
    """The rows and codes that are others now."""
    return {
        "rows": list(_rows(tape, replayed)),
        "codes": list(_codes(tape.facts, replayed.facts)),
    }


def _rows(tape: Tape, replayed: Replayed) -> Iterator[ChangedRow]:
    recorded = {row.key: row for row in tape.rows}
    now = {row.key: [cell.value for cell in row.cells] for row in replayed.outcome.rows}
    recipe = tape.pinned or tape.recipe
    for key, row in recorded.items():
        if key not in now:
            yield {"rowKey": key, "name": row.name, "change": "lost", "cells": []}
            continue
        cells = list(_cells(recipe, row, now[key]))
        if cells:
            yield {"rowKey": key, "name": row.name, "change": "changed", "cells": cells}
    for key, values in now.items():
        if key not in recorded:
            yield {"rowKey": key, "name": values[0] or "", "change": "added", "cells": []}


def _cells(
    recipe: ResearchRecipe, recorded: FoundRow, values: Sequence[str | None]
) -> Iterator[ChangedCell]:
    if recorded.values is None:
        return
    for field, before, now in zip(recipe.fields, recorded.values, values, strict=False):
        if before != now:
            yield {"label": field.label, "recorded": before, "replayed": now}


def _codes(
    recorded: Sequence[ResearchFact], replayed: Sequence[ResearchFact]
) -> Iterator[ChangedCode]:
    before, now = _counted(recorded), _counted(replayed)
    for code in sorted({*before, *now}):
        if before[code] != now[code]:
            yield {"code": code, "recorded": before[code], "replayed": now[code]}


def _counted(facts: Sequence[ResearchFact]) -> Counter[str]:
    # What became of the rows in the table is none of the harness's facts.
    return Counter(fact.code for fact in facts if fact.stage != "output")


def as_recorded(
    run: Run,
    recipe: ResearchRecipe,
    known: Memory,
    facts: Sequence[ResearchFact],
    outcome: ResearchOutcome,
) -> RecordedResearch:
    """What a replay of `run` records, to be explained as any Run is."""
    taken: Run = {**run, "status": "succeeded" if outcome.problem is None else "failed"}
    return RecordedResearch(
        run=taken,
        attempt=None,
        stop={"rule": outcome.stop, "inputs": outcome.inputs},
        facts=facts,
        recipe=recipe,
        columns=[_column(field, is_key=field == recipe.name) for field in recipe.fields],
        basis="replay",
        known=known,
        rows={row.key: row for row in _rows_after(run, recipe, known, outcome)},
    )


def _rows_after(
    run: Run, recipe: ResearchRecipe, known: Memory, outcome: ResearchOutcome
) -> Iterator[RowAtRun]:
    """The table as the output would leave it: rows from before, and over them those found."""
    for before in known.rows:
        gone = before.key in outcome.gone
        presence, by = ("missing" if gone else before.presence), (run["id"] if gone else None)
        cells = _cells_after(recipe, [(cell.value, cell.reason) for cell in before.cells])
        yield RowAtRun(before.key, before.key, presence, before.key, by, cells)
    for row in outcome.rows:
        cells = _cells_after(recipe, [(cell.value, cell.reason) for cell in row.cells])
        yield RowAtRun(row.key, row.key, "present", row.key, run["id"], cells)


def _cells_after(
    recipe: ResearchRecipe, cells: Sequence[tuple[str | None, MissingReason | None]]
) -> list[CellAtRun]:
    return [
        CellAtRun(field.id, value, reason, None)
        for field, (value, reason) in zip(recipe.fields, cells, strict=True)
    ]


def _column(field: ResearchField, *, is_key: bool) -> Column:
    return {
        "id": field.id,
        "label": field.label,
        "ownership": "collected",
        "name": field.name,
        "type": "string",
        "key": is_key,
    }
