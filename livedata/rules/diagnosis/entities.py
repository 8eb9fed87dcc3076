"""The entities of a Run: what became of each, of one in detail, and of all (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Protocol, TypeVar, get_args

from msgspec import Struct

from livedata.model.diagnosis.entities import (
    Basis,
    DiagnosedCell,
    DuplicateGroup,
    EntityDiagnosis,
    EntityPath,
    Fact,
    FailureGroup,
    FirstFailure,
    MissingCells,
    Outcome,
    OutcomeTotals,
    Peer,
    RunLossSummary,
    SummaryEntity,
)
from livedata.model.diagnosis.recorded_run import CellAtRun, RowAtRun
from livedata.model.run import Stage

STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
LONGEST_DETAIL: Final = 1000
MOST_EXAMPLES: Final = 3
MOST_NAMES: Final = 20


class Failure(Struct, frozen=True):
    """A fact that stood in an entity's way, with its page if that is known."""

    fact: Fact
    url: str | None


class EntityTrace(Struct, frozen=True):
    """One entity: what it is called, what became of it, why, and the row that it came to.

    `failures` are what stood in its way, in the order of the stages.
    """

    name: str
    aliases: Sequence[str]
    outcome: Outcome
    facts: Sequence[Fact]
    failures: Sequence[Failure]
    row: RowAtRun | None

    @property
    def recovered(self) -> bool:
        """Whether it is present although something stood in its way."""
        return self.outcome == "present" and bool(self.failures)

    @property
    def codes(self) -> list[str]:
        """The codes of its failures, each of them once."""
        return sorted({failure.fact["code"] for failure in self.failures})


def make_path(url: str, facts: list[Fact], first: Fact | None) -> EntityPath:
    """The way over one page; `first` is what first stood in the way there."""
    # After the first failure nothing was to be recorded, so no later stage is unknown.
    last = STAGES.index((first or facts[-1])["stage"])
    recorded = {fact["stage"] for fact in facts}
    unknown = [stage for stage in STAGES[: last + 1] if stage not in recorded]
    return {"url": url, "facts": facts, "unknownStages": unknown, "firstFailure": first}


def first_failures(trace: EntityTrace, paths: Iterable[EntityPath]) -> list[FirstFailure]:
    """What first stood in the way, and on which pages, in the order of the pages."""
    urls: dict[str, list[str]] = {}
    for path in paths:
        if path["firstFailure"] is not None:
            urls.setdefault(path["firstFailure"]["code"], []).append(path["url"])
    if not urls and trace.failures:
        # On which page is not known.
        urls[trace.failures[0].fact["code"]] = []
    return [{"code": code, "urls": places} for code, places in urls.items()]


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


T = TypeVar("T", bound=EntityTrace)


class TracedEntities(Protocol[T]):
    """The entities of a Run, as a kind of Run knows them from its records."""

    @property
    def basis(self) -> Basis:
        """Whether they were recorded or come of a replay."""

    @property
    def attempt(self) -> str | None:
        """The attempt that recorded them."""

    @property
    def complete(self) -> bool:
        """Whether the output of the Run has all that was there, and was accepted."""

    @property
    def traces(self) -> Sequence[T]:
        """All of them, in the order in which they are told."""

    def named(self, name: str) -> Sequence[T]:
        """Those that a name means."""

    def names(self, matches: Sequence[T]) -> Sequence[str]:
        """The names of one that was meant; of several their keys."""

    def facts(self, trace: T, field: str | None) -> list[Fact]:
        """What is recorded of one, with what is recorded of its cell in a field."""

    def paths(self, trace: T) -> list[EntityPath]:
        """Its way over each page."""

    def peers(self, trace: T) -> Iterator[Peer]:
        """The others of its pages."""

    def unknowns_of(self, matches: Sequence[T]) -> Iterator[str]:
        """What is not known of those that a name means."""

    def unknowns(self) -> Iterator[str]:
        """What is not known of the Run."""

    def meaning(self, code: str) -> str:
        """The words for the code of a failure."""

    def duplicates(self) -> DuplicateGroup:
        """Those that were read more than once."""

    def missing_cells(self) -> Iterator[MissingCells]:
        """The empty cells of each field that has some."""


def diagnose(entities: TracedEntities[T], name: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the entity that a name means; with `field`, of its cells only that one."""
    matches = entities.named(name)
    trace = matches[0] if len(matches) == 1 else None
    paths = [] if trace is None else entities.paths(trace)
    return {
        "entity": name,
        "basis": entities.basis,
        "attemptId": entities.attempt,
        "matchedNames": list(entities.names(matches))[:MOST_NAMES],
        # Several entities have the name: the answer says nothing of any of them.
        "outcome": "ambiguous" if len(matches) > 1 else trace.outcome if trace else "unknown",
        "field": field,
        "entityFacts": [] if trace is None else entities.facts(trace, field),
        # Only an accepted Run left cells.
        "cells": list_cells(trace.row, field)
        if trace is not None and trace.row is not None and trace.outcome == "present"
        else [],
        "paths": paths,
        "firstFailures": [] if trace is None else first_failures(trace, paths),
        "recovered": trace is not None and trace.recovered,
        "peers": [] if trace is None else list(islice(entities.peers(trace), MOST_NAMES)),
        "unknowns": [*entities.unknowns_of(matches), *entities.unknowns()],
    }


def summarize(entities: TracedEntities[T]) -> RunLossSummary:
    """The summary of a Run: its entities by outcome, and what each group of them failed at."""
    traces = entities.traces
    return {
        "basis": entities.basis,
        "attemptId": entities.attempt,
        "outputComplete": entities.complete,
        "totals": count_outcomes(traces),
        "entities": list_entities(traces),
        "failureGroups": group_failures(traces, entities.meaning),
        "duplicates": entities.duplicates(),
        "missingCells": list(entities.missing_cells()),
        "unknowns": list(entities.unknowns()),
    }
