"""Sums up what became of entities, and what stood in the way of how many (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, get_args

from msgspec import Struct

from livedata.model.diagnosis.entities import (
    DiagnosedCell,
    EntityPath,
    Fact,
    FailureGroup,
    FirstFailure,
    Outcome,
    OutcomeTotals,
    Stage,
    SummaryEntity,
)
from livedata.model.diagnosis.recorded_run import RowAtRun

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
MOST_NAMES: Final = 20
MOST_EXAMPLES: Final = 3


class Failure(Struct, frozen=True):
    """A fact that stood in an entity's way, with its page if that is known."""

    fact: Fact
    url: str | None


class TracedEntity(Struct, frozen=True):
    """One entity: what it is called, what became of it, and what stood in its way."""

    name: str
    aliases: Sequence[str]
    outcome: Outcome
    failures: Sequence[Failure]

    @property
    def recovered(self) -> bool:
        """Whether it is present although something stood in its way."""
        return self.outcome == "present" and bool(self.failures)

    @property
    def codes(self) -> list[str]:
        """The codes of its failures, each of them once."""
        return sorted({failure.fact["code"] for failure in self.failures})


def count_outcomes(entities: Sequence[TracedEntity]) -> OutcomeTotals:
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


def list_entities(entities: Iterable[TracedEntity]) -> list[SummaryEntity]:
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
    entities: Iterable[TracedEntity], meaning: Callable[[str], str]
) -> list[FailureGroup]:
    """The failed entities by stage and code, in the order of the stages.

    `meaning` gives the words for a code.
    """
    groups: dict[tuple[int, str], list[tuple[TracedEntity, Failure]]] = {}
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


def _group(
    code: str, meaning: str, members: Sequence[tuple[TracedEntity, Failure]]
) -> FailureGroup:
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


def make_path(url: str, facts: list[Fact], first: Fact | None) -> EntityPath:
    """The way over one page; `first` is what first stood in the way there."""
    # After the first failure nothing was to be recorded, so no later stage is unknown.
    last = STAGES.index((first or facts[-1])["stage"])
    recorded = {fact["stage"] for fact in facts}
    unknown = [stage for stage in STAGES[: last + 1] if stage not in recorded]
    return {"url": url, "facts": facts, "unknownStages": unknown, "firstFailure": first}


def first_failures(paths: Iterable[EntityPath]) -> list[FirstFailure]:
    """What first stood in the way, and on which pages, in the order of the pages."""
    urls: dict[str, list[str]] = {}
    for path in paths:
        if path["firstFailure"] is not None:
            urls.setdefault(path["firstFailure"]["code"], []).append(path["url"])
    return [{"code": code, "urls": places} for code, places in urls.items()]


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
