"""The records of a replay: those of a Run whose output was taken, though nothing is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.research.memory import Memory
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchField, ResearchRecipe
from livedata.model.research.record import ResearchFact
from livedata.model.row import MissingReason
from livedata.model.run import Run


def replayed(
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
        rows={row.key: row for row in _rows(run, recipe, known, outcome)},
    )


def _rows(
    run: Run, recipe: ResearchRecipe, known: Memory, outcome: ResearchOutcome
) -> Iterator[RowAtRun]:
    """The table as the output would leave it: rows from before, and over them those found."""
    for before in known.rows:
        gone = before.key in outcome.gone
        presence, by = ("missing" if gone else before.presence), (run["id"] if gone else None)
        cells = _cells(recipe, [(cell.value, cell.reason) for cell in before.cells])
        yield RowAtRun(before.key, before.key, presence, before.key, by, cells)
    for row in outcome.rows:
        cells = _cells(recipe, [(cell.value, cell.reason) for cell in row.cells])
        yield RowAtRun(row.key, row.key, "present", row.key, run["id"], cells)


def _cells(
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
