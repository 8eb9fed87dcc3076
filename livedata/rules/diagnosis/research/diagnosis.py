"""Diagnoses one entity of a research Run, or sums up all of them (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from livedata.extraction.cells import canonical
from livedata.messages.diagnosis.research import fact_meaning, research_sentence
from livedata.model.diagnosis.entities import (
    DuplicateGroup,
    EntityDiagnosis,
    Fact,
    MissingCells,
    Peer,
    RunLossSummary,
)
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.rules.diagnosis import losses
from livedata.rules.diagnosis.losses import MOST_EXAMPLES, MOST_NAMES
from livedata.rules.diagnosis.research.entities import folded
from livedata.rules.diagnosis.research.pages import CUT, count_pages, list_pages
from livedata.rules.diagnosis.research.traces import (
    ResearchTrace,
    answer_fact,
    trace_entities,
)
from livedata.rules.diagnosis.research.unknowns import unknowns_of_run


def diagnose(recorded: RecordedResearch, entity: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the entity that `entity` names: by a name that was recorded, or its key.

    With `field`, the facts of that field are added, and only its cells are in the answer.
    """
    traces = trace_entities(recorded)
    matches = _named(recorded, traces, entity)
    trace = matches[0] if len(matches) == 1 else None
    paths = [] if trace is None else list(trace.paths)
    return {
        "entity": entity,
        "basis": recorded.basis,
        "attemptId": recorded.attempt,
        "matchedNames": _matched_names(matches),
        # Several entities have the name: the answer says nothing of any of them.
        "outcome": "ambiguous" if len(matches) > 1 else trace.outcome if trace else "unknown",
        "field": field,
        "entityFacts": [] if trace is None else _facts(recorded, trace, field),
        # Only a row that the Run wrote has cells of it.
        "cells": losses.list_cells(trace.row, field) if trace and trace.row else [],
        "paths": paths,
        "firstFailures": losses.first_failures(paths),
        "recovered": trace is not None and trace.traced.recovered,
        "peers": [] if trace is None else list(_peers(traces, trace))[:MOST_NAMES],
        "unknowns": list(_unknowns(recorded, matches)),
    }


def summarize(
    recorded: RecordedResearch, traces: Sequence[ResearchTrace] | None = None
) -> RunLossSummary:
    """The summary of a Run: its entities by outcome, and what each group of them failed at.

    `traces` are those of its entities, from a caller who has them already.
    """
    traces = trace_entities(recorded) if traces is None else traces
    entities = [trace.traced for trace in traces]
    return {
        "basis": recorded.basis,
        "attemptId": recorded.attempt,
        "outputComplete": _complete(recorded),
        "totals": losses.count_outcomes(entities),
        "entities": losses.list_entities(entities),
        "failureGroups": losses.group_failures(entities, fact_meaning),
        "duplicates": _duplicates(traces),
        "missingCells": list(_missing_cells(recorded, traces)),
        "unknowns": list(unknowns_of_run(recorded)),
    }


def _named(
    recorded: RecordedResearch, traces: Sequence[ResearchTrace], name: str
) -> list[ResearchTrace]:
    """The entities that a name means: those called just so, else those it would be found as."""
    by_key = [trace for trace in traces if [name] == list(trace.entity.keys)]
    if by_key:
        return by_key
    forms: tuple[Callable[[str], str | None], ...] = (canonical, partial(folded, recorded))
    for form in forms:
        wanted = form(name) or name
        matches = [
            trace
            for trace in traces
            if wanted in {form(each) for each in (trace.entity.name, *trace.entity.aliases)}
        ]
        if matches:
            return matches
    return []


def _matched_names(matches: Sequence[ResearchTrace]) -> list[str]:
    if len(matches) == 1:
        entity = matches[0].entity
        return [entity.name, *entity.aliases][:MOST_NAMES]
    keys = [key for trace in matches for key in (trace.entity.keys or [trace.entity.name])]
    return list(dict.fromkeys(keys))[:MOST_NAMES]


def _facts(recorded: RecordedResearch, trace: ResearchTrace, field: str | None) -> list[Fact]:
    if field is None:
        return list(trace.facts)
    labels = recorded.labels
    cells = [answer_fact(fact, labels) for fact in trace.entity.facts if fact.field == field]
    return [*trace.facts, *cells]


def _peers(traces: Sequence[ResearchTrace], trace: ResearchTrace) -> Iterator[Peer]:
    """The other entities that were met on the same pages, with what failed there."""
    urls = {path["url"] for path in trace.paths}
    for other in traces:
        shared = [path for path in other.paths if path["url"] in urls]
        if other is not trace and shared:
            failures = {path["firstFailure"]["code"] for path in shared if path["firstFailure"]}
            yield {
                "entity": other.entity.name,
                "codes": sorted(failures),
                "outcome": other.outcome,
            }


def _unknowns(recorded: RecordedResearch, matches: Sequence[ResearchTrace]) -> Iterator[str]:
    if len(matches) > 1:
        yield research_sentence("unknown.ambiguous_name", entities=len(matches))
    elif not matches:
        yield research_sentence("unknown.no_such_entity")
    elif matches[0].outcome == "absent":
        yield research_sentence("unknown.cells_not_taken")
    yield from unknowns_of_run(recorded)


def _complete(recorded: RecordedResearch) -> bool:
    """Whether all that was found was read whole, and taken."""
    counts = count_pages(list_pages(recorded))
    rule = recorded.stop["rule"] if recorded.stop else ""
    cut = any(fact.code in CUT for fact in recorded.facts)
    # The rule holds also if a page could not be read; the output then lacks what is there.
    missed = counts["unreadable"] + counts["unknown"] + counts["unattempted"]
    return recorded.accepted and rule == "all_selected_pages_checked" and not cut and not missed


def _duplicates(traces: Sequence[ResearchTrace]) -> DuplicateGroup:
    merged = [
        (trace, fact)
        for trace in traces
        # Several pages may offer an entity again, and it counts once.
        for fact in [fact for fact in trace.entity.facts if fact.code == "row_merged"][:1]
    ]
    return {
        "entities": len(merged),
        "examples": [
            {"entity": trace.entity.name, "code": fact.code, "evidenceId": fact.evidence}
            for trace, fact in merged[:MOST_EXAMPLES]
        ],
    }


def _missing_cells(
    recorded: RecordedResearch, traces: Sequence[ResearchTrace]
) -> Iterator[MissingCells]:
    """The empty cells of each field in the rows that this Run wrote, by reason."""
    rows = [(trace.entity.name, trace.row) for trace in traces if trace.row is not None]
    for field in () if recorded.recipe is None else recorded.recipe.fields:
        empty = [
            (name, row, cell)
            for name, row in rows
            for cell in row.cells
            if cell.field == field.id and cell.value is None
        ]
        if empty:
            reasons = Counter(cell.reason or "unknown" for *_, cell in empty)
            yield {
                "fieldId": field.id,
                "label": recorded.labels.get(field.id, field.label),
                "observedRows": len(rows),
                "missing": len(empty),
                "reasons": dict(sorted(reasons.items())),
                "examples": [
                    {"entity": name, "rowId": row.id, "reason": cell.reason}
                    for name, row, cell in empty[:MOST_EXAMPLES]
                ],
            }
