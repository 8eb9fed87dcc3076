"""Diagnoses one entity of a Run, or sums up all of them (interface 2.12)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from livedata.extraction.cells import canonical
from livedata.messages.diagnosis.findings import fact_meaning, finding_sentence
from livedata.model.diagnosis.entities import (
    DiagnosedCell,
    EntityDiagnosis,
    EntityPath,
    FirstFailure,
    MissingCells,
    Outcome,
    Peer,
    RunLossSummary,
)
from livedata.model.diagnosis.recorded_run import RecordedRun
from livedata.rules.diagnosis import entity_traces, losses
from livedata.rules.diagnosis.entity_traces import EntityTrace
from livedata.rules.diagnosis.findings import nothing_recorded, page_unread
from livedata.rules.diagnosis.losses import (
    MOST_EXAMPLES,
    MOST_NAMES,
    Failure,
    TracedEntity,
)


def diagnose(recorded: RecordedRun, entity: str, field: str | None) -> EntityDiagnosis:
    """The diagnosis of the item that `entity` names by its row key, or a part of a composite key.

    With `field`, only the cells of that field are in the answer.
    """
    traces = entity_traces.trace_entities(recorded)
    names = _named(recorded, traces, entity)
    trace = entity_traces.trace_entity(recorded, names[0], traces) if len(names) == 1 else None
    paths = _paths(recorded, trace)
    facts = [] if trace is None else list(trace.facts)
    if trace is not None and field is not None:
        facts += [
            fact for at, fact in entity_traces.cell_failures(recorded, trace.key) if at == field
        ]
        facts = [fact for at, fact in enumerate(facts) if fact not in facts[:at]]
    # Several items have the name: the answer lists their keys and says nothing of any of them.
    outcome: Outcome = "ambiguous" if len(names) > 1 else trace.outcome if trace else "unknown"
    return {
        "entity": entity,
        "basis": "recorded",
        "attemptId": recorded.attempt,
        "matchedNames": names[:MOST_NAMES],
        "outcome": outcome,
        "field": field,
        "entityFacts": facts,
        "cells": _cells(trace, field),
        "paths": paths,
        "firstFailures": _first_failures(trace, paths),
        "recovered": outcome == "present" and any(path["firstFailure"] for path in paths),
        "peers": list(_peers(traces, trace))[:MOST_NAMES],
        "unknowns": list(_unknowns_of(recorded, trace, names)),
    }


def summarize(recorded: RecordedRun) -> RunLossSummary:
    """The summary of a Run: its entities by outcome, and what each group of them failed at."""
    traces = entity_traces.trace_entities(recorded)
    entities = [_traced(recorded, trace) for _, trace in sorted(traces.items())]
    facts = recorded.facts
    return {
        "basis": "recorded",
        "attemptId": recorded.attempt,
        "outputComplete": recorded.run["status"] == "succeeded",
        "totals": losses.count_outcomes(entities),
        "entities": losses.list_entities(entities),
        "failureGroups": losses.group_failures(entities, fact_meaning),
        "duplicates": {
            "entities": facts.get("duplicates", 0),
            "examples": [
                {
                    "entity": record["key"],
                    "code": "key_conflict" if record["differ"] else "row_merged",
                    "evidenceId": entity_traces.item_place(
                        recorded, record["page"], record["item"]
                    ),
                }
                for record in facts.get("duplicateExamples", [])[:MOST_EXAMPLES]
            ],
        },
        "missingCells": list(_missing_cells(recorded, traces)),
        "unknowns": list(_unknowns(recorded)),
    }


def _named(recorded: RecordedRun, traces: Mapping[str, EntityTrace], entity: str) -> list[str]:
    """The keys that a name means: the key itself, else every composite key with that part."""
    # Keys are cleaned texts in NFC, and a person may write other spaces or another form of é.
    wanted = canonical(entity) or entity
    keys = traces.keys() | (recorded.rows.keys() if traces else set())
    for name in (entity, wanted):
        if name in keys:
            return [name]
    if not recorded.composite:
        return []
    return sorted(key for key in keys if wanted in entity_traces.parts(key))


def _paths(recorded: RecordedRun, trace: EntityTrace | None) -> list[EntityPath]:
    """The path of an item: the recorded facts on the page where it was read."""
    # Without a known page there is no path: which page it could have been on is a guess.
    if trace is None or not trace.page:
        return []
    url = recorded.page_url(trace.page)
    if url is None:
        return []
    facts = [*entity_traces.page_facts(recorded, trace.page), *trace.facts]
    first = next((fact for fact in facts if fact["failure"]), None)
    return [losses.make_path(url, facts, first)]


def _first_failures(trace: EntityTrace | None, paths: Sequence[EntityPath]) -> list[FirstFailure]:
    if trace is None or not trace.failures:
        return []
    urls = [path["url"] for path in paths]
    return [{"code": trace.failures[0]["code"], "urls": urls}]


def _cells(trace: EntityTrace | None, field: str | None) -> list[DiagnosedCell]:
    """The cells as the Run left them; only an accepted Run left any."""
    if trace is None or trace.row is None or trace.outcome != "present":
        return []
    return losses.list_cells(trace.row, field)


def _peers(traces: Mapping[str, EntityTrace], trace: EntityTrace | None) -> Iterator[Peer]:
    """The other items of the same page that have failures."""
    if trace is None or not trace.page:
        return
    for key, other in sorted(traces.items()):
        if other.page == trace.page and key != trace.key and other.failures:
            codes = sorted({failure["code"] for failure in other.failures})
            yield {"entity": key, "codes": codes, "outcome": other.outcome}


def _unknowns_of(
    recorded: RecordedRun, trace: EntityTrace | None, names: Sequence[str]
) -> Iterator[str]:
    if len(names) > 1:
        yield finding_sentence("unknown.ambiguous_name", keys=len(names))
    elif not names and recorded.is_over and not recorded.forgotten:
        yield finding_sentence("unknown.no_such_item")
    if trace is not None and trace.page is None and trace.outcome == "present":
        yield finding_sentence("unknown.page_of_item")
    if trace is not None and trace.outcome == "unknown" and "seen" in recorded.facts:
        yield finding_sentence("unknown.rest_of_list")
    if trace is not None and trace.outcome == "absent" and trace.page:
        yield finding_sentence("unknown.cells_not_taken")
    yield from _unknowns(recorded)


def _unknowns(recorded: RecordedRun) -> Iterator[str]:
    facts = recorded.facts
    if "seen" not in facts:
        yield nothing_recorded(recorded)
        return
    failure = facts.get("failure")
    if failure is not None:
        yield page_unread(failure)
    if not facts.get("complete"):
        yield finding_sentence("unknown.list_goes_on")
    if facts["othersLeftOut"]:
        yield finding_sentence("unknown.long_keys", keys=facts["othersLeftOut"])
    nameless = facts["rejected"].get("no_key", 0)
    if nameless:
        yield finding_sentence("unknown.no_key", records=nameless)


def _traced(recorded: RecordedRun, trace: EntityTrace) -> TracedEntity:
    url = recorded.page_url(trace.page) if trace.page else None
    failures = [Failure(fact, url) for fact in trace.failures]
    return TracedEntity(trace.key, (), trace.outcome, failures)


def _missing_cells(
    recorded: RecordedRun, traces: Mapping[str, EntityTrace]
) -> Iterator[MissingCells]:
    """The counts of empty cells of each field, with examples from the rows in the table."""
    facts = recorded.facts
    # Counts cover all that was read, examples only rows that exist: an example has a row id.
    rows = [trace.row for trace in traces.values() if trace.outcome == "present" and trace.row]
    for field in facts.get("fields", []):
        reasons = {"not_found": field["notFound"], "extraction_failed": field["extractionFailed"]}
        missing = sum(reasons.values())
        if not missing:
            continue
        empty = (
            (row, cell)
            for row in rows
            for cell in row.cells
            if cell.field == field["id"] and cell.value is None
        )
        yield {
            "fieldId": field["id"],
            "label": recorded.labels[field["id"]],
            "observedRows": field["populated"] + missing,
            "missing": missing,
            "reasons": {reason: count for reason, count in reasons.items() if count},
            "examples": [
                {"entity": row.key, "rowId": row.id, "reason": cell.reason}
                for (row, cell), _ in zip(empty, range(MOST_EXAMPLES), strict=False)
            ],
        }
