"""A replay: the harness on what a Run recorded, asking nobody, and how it differs (rules 14.13)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from livedata.model.diagnosis.replayed import (
    ChangedCell,
    ChangedCode,
    ChangedRow,
    ReplayDiff,
    ReplayMode,
)
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchFact
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
