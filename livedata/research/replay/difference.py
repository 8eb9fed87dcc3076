"""What a replay finds otherwise than the Run that was recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from livedata.model.diagnosis.replayed import ChangedCell, ChangedCode, ChangedRow, ReplayDiff
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchFact
from livedata.research.replay.replay import Replayed
from livedata.research.replay.tape import FoundRow, Tape


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
