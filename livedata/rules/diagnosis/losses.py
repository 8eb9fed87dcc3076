"""Sums up what became of entities, and what stood in the way of how many (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from livedata.model.diagnosis.entities import (
    DiagnosedCell,
    FailureGroup,
    MissingCells,
    OutcomeTotals,
    SummaryEntity,
)
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.rules.diagnosis.traces import STAGES, EntityTrace, Failure

MOST_EXAMPLES: Final = 3


def count_outcomes(entities: Sequence[EntityTrace]) -> OutcomeTotals:
    """The number of entities by outcome."""
    counts = Counter(entity.outcome for entity in entities)
    return {
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": counts["unknown"],
        "ambiguous": counts["ambiguous"],
        "recovered": sum(entity.recovered for entity in entities),
        "entities": len(entities),
    }


def list_entities(entities: Iterable[EntityTrace]) -> list[SummaryEntity]:
    """The entities as a summary lists them."""
    return [
        {
            "entity": entity.name,
            "aliases": list(entity.aliases),
            "outcome": entity.outcome,
            "recovered": entity.recovered,
            "failureCodes": entity.codes,
        }
        for entity in entities
    ]


def group_failures(
    entities: Iterable[EntityTrace], meaning: Callable[[str], str]
) -> list[FailureGroup]:
    """The failed entities by stage and code, in the order of the stages.

    `meaning` gives the words for a code.
    """
    groups: dict[tuple[int, str], list[tuple[EntityTrace, Failure]]] = {}
    for entity in entities:
        # An entity counts once per group: several empty cells are one failure of its row.
        places: dict[tuple[int, str], Failure] = {}
        for failure in entity.failures:
            place = (STAGES.index(failure.fact["stage"]), failure.fact["code"])
            places.setdefault(place, failure)
        for place, failure in places.items():
            groups.setdefault(place, []).append((entity, failure))
    return [
        _group(code, meaning(code), members)
        for (_, code), members in sorted(groups.items(), key=lambda item: item[0])
    ]


def _group(code: str, meaning: str, members: Sequence[tuple[EntityTrace, Failure]]) -> FailureGroup:
    totals = count_outcomes([entity for entity, _ in members])
    return {
        "stage": members[0][1].fact["stage"],
        "code": code,
        "detail": meaning,
        "counts": {
            "present": totals["present"],
            "absent": totals["absent"],
            "unknown": totals["unknown"],
            "ambiguous": totals["ambiguous"],
            "recovered": totals["recovered"],
        },
        "examples": [
            {
                "entity": entity.name,
                "evidenceId": failure.fact["evidenceId"],
                "url": failure.url,
            }
            for entity, failure in members[:MOST_EXAMPLES]
        ],
    }


def missing_cells(
    field: str,
    label: str,
    observed: int,
    reasons: Mapping[str, int],
    empty: Iterable[tuple[str, RowAtRun, CellAtRun]],
) -> MissingCells:
    """The empty cells of a field among so many observed ones; `empty` has those of rows by name."""
    return {
        "fieldId": field,
        "label": label,
        "observedRows": observed,
        "missing": sum(reasons.values()),
        "reasons": dict(reasons),
        "examples": [
            {"entity": name, "rowId": row.id, "reason": cell.reason}
            for name, row, cell in islice(empty, MOST_EXAMPLES)
        ],
    }


def empty_cells(
    rows: Iterable[tuple[str, RowAtRun]], field: str
) -> Iterator[tuple[str, RowAtRun, CellAtRun]]:
    """The cells of a field that have no value, with the name of each row."""
    for name, row in rows:
        for cell in row.cells:
            if cell.field == field and cell.value is None:
                yield name, row, cell


def list_cells(row: RowAtRun, field: str | None) -> list[DiagnosedCell]:
    """The cells of a row as the Run left them; with `field` only that one."""
    return [
        {
            "rowId": row.id,
            "fieldId": cell.field,
            "value": cell.value,
            "missingReason": cell.reason,
            "evidenceIds": [] if cell.entry is None else [cell.entry],
        }
        for cell in row.cells
        if field in (None, cell.field)
    ]
