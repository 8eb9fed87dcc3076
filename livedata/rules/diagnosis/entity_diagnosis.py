"""One entity diagnosed, or all of a Run summed up (interface 2.12)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from livedata.extraction.cells import canonical
from livedata.messages.findings import fact_meaning, finding_sentence
from livedata.model.diagnosis.entities import (
    DiagnosedCell,
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
)
from livedata.model.diagnosis.recorded_run import RecordedRun
from livedata.rules.diagnosis import entity_traces
from livedata.rules.diagnosis.entity_traces import EntityTrace
from livedata.rules.diagnosis.findings import nothing_recorded, page_unread

MOST_NAMES: Final = 20
MOST_EXAMPLES: Final = 3


def diagnose(recorded: RecordedRun, entity: str, field: str | None) -> EntityDiagnosis:
    """What became of the item that `entity` names: its row key, or a part of a composite one."""
    known = entity_traces.trace_entities(recorded)
    names = _named(recorded, known, entity)
    story = entity_traces.trace_entity(recorded, names[0], known) if len(names) == 1 else None
    paths = _paths(recorded, story)
    facts = [] if story is None else list(story.facts)
    if story is not None and field is not None:
        facts += [
            one for at, one in entity_traces.cell_failures(recorded, story.key) if at == field
        ]
        facts = [one for at, one in enumerate(facts) if one not in facts[:at]]
    outcome: Outcome = "ambiguous" if len(names) > 1 else story.outcome if story else "unknown"
    return {
        "entity": entity,
        "basis": "recorded",
        "attemptId": recorded.attempt,
        "matchedNames": names[:MOST_NAMES],
        "outcome": outcome,
        "field": field,
        "entityFacts": facts,
        "cells": _cells(story, field),
        "paths": paths,
        "firstFailures": _first_failures(story, paths),
        "recovered": outcome == "present" and any(path["firstFailure"] for path in paths),
        "peers": list(_peers(known, story))[:MOST_NAMES],
        "unknowns": list(_unknowns_of(recorded, story, names)),
    }


def summarise(recorded: RecordedRun) -> RunLossSummary:
    """What a Run read, what of it is in the table, and what stood in the way of the rest."""
    known = entity_traces.trace_entities(recorded)
    facts = recorded.facts
    return {
        "basis": "recorded",
        "attemptId": recorded.attempt,
        "outputComplete": recorded.run["status"] == "succeeded",
        "totals": _totals(known),
        "entities": [
            {
                "entity": key,
                "aliases": [],
                "outcome": story.outcome,
                "recovered": _recovered(story),
                "failureCodes": sorted({failure["code"] for failure in story.failures}),
            }
            for key, story in sorted(known.items())
        ],
        "failureGroups": _groups(recorded, known),
        "duplicates": {
            "entities": facts.get("duplicates", 0),
            "examples": [
                {
                    "entity": one["key"],
                    "code": "key_conflict" if one["differ"] else "row_merged",
                    "evidenceId": f"{recorded.attempt}/pages/{one['page']}/items/{one['item']}",
                }
                for one in facts.get("duplicateExamples", [])[:MOST_EXAMPLES]
            ],
        },
        "missingCells": list(_missing_cells(recorded, known)),
        "unknowns": list(_unknowns(recorded)),
    }


def _named(recorded: RecordedRun, known: Mapping[str, EntityTrace], entity: str) -> list[str]:
    """The keys that a name means: the key itself, else every composite key with such a part."""
    wanted = canonical(entity) or entity
    keys = known.keys() | (recorded.rows.keys() if known else set())
    for name in (entity, wanted):
        if name in keys:
            return [name]
    if not recorded.composite:
        return []
    return sorted(key for key in keys if wanted in entity_traces.parts(key))


def _paths(recorded: RecordedRun, story: EntityTrace | None) -> list[EntityPath]:
    """The way over the page on which the item was read."""
    if story is None or not story.page:
        return []
    url = recorded.page_url(story.page)
    if url is None:
        return []
    facts = [*entity_traces.page_facts(recorded, story.page), *story.facts]
    first = next((fact for fact in facts if fact["failure"]), None)
    last = entity_traces.STAGES.index((first or facts[-1])["stage"])
    told = {fact["stage"] for fact in facts}
    return [
        {
            "url": url,
            "facts": facts,
            "unknownStages": [
                stage for stage in entity_traces.STAGES[: last + 1] if stage not in told
            ],
            "firstFailure": first,
        }
    ]


def _first_failures(story: EntityTrace | None, paths: Sequence[EntityPath]) -> list[FirstFailure]:
    if story is None or not story.failures:
        return []
    urls = [path["url"] for path in paths]
    return [{"code": story.failures[0]["code"], "urls": urls}]


def _cells(story: EntityTrace | None, field: str | None) -> list[DiagnosedCell]:
    """The cells as the Run left them; only a Run that was accepted left any."""
    if story is None or story.row is None or story.outcome != "present":
        return []
    return [
        {
            "rowId": story.row.id,
            "fieldId": cell.field,
            "value": cell.value,
            "missingReason": cell.reason,
            "evidenceIds": [] if cell.entry is None else [cell.entry],
        }
        for cell in story.row.cells
        if field in (None, cell.field)
    ]


def _peers(known: Mapping[str, EntityTrace], story: EntityTrace | None) -> Iterator[Peer]:
    """Others of the same page with something in their way."""
    if story is None or not story.page:
        return
    for key, other in sorted(known.items()):
        if other.page == story.page and key != story.key and other.failures:
            codes = sorted({failure["code"] for failure in other.failures})
            yield {"entity": key, "codes": codes, "outcome": other.outcome}


def _unknowns_of(
    recorded: RecordedRun, story: EntityTrace | None, names: Sequence[str]
) -> Iterator[str]:
    if len(names) > 1:
        yield finding_sentence("unknown.ambiguous_name", keys=len(names))
    elif not names and recorded.is_over:
        yield finding_sentence("unknown.no_such_item")
    if story is not None and story.page is None and story.outcome == "present":
        yield finding_sentence("unknown.page_of_item")
    if story is not None and story.outcome == "unknown" and "seen" in recorded.facts:
        yield finding_sentence("unknown.rest_of_list")
    if story is not None and story.outcome == "absent" and story.page:
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


def _recovered(story: EntityTrace) -> bool:
    return story.outcome == "present" and bool(story.failures)


def _totals(known: Mapping[str, EntityTrace]) -> OutcomeTotals:
    counts = Counter(story.outcome for story in known.values())
    return {
        "present": counts["present"],
        "absent": counts["absent"],
        "unknown": counts["unknown"],
        "ambiguous": counts["ambiguous"],
        "recovered": sum(_recovered(story) for story in known.values()),
        "entities": len(known),
    }


def _groups(recorded: RecordedRun, known: Mapping[str, EntityTrace]) -> list[FailureGroup]:
    """The entities that failed alike, by stage and code."""
    groups: dict[tuple[int, str], dict[str, tuple[EntityTrace, Fact]]] = {}
    for key, story in sorted(known.items()):
        for failure in story.failures:
            place = (entity_traces.STAGES.index(failure["stage"]), failure["code"])
            groups.setdefault(place, {}).setdefault(key, (story, failure))
    return [
        _group(recorded, code, list(members.values()))
        for (_, code), members in sorted(groups.items(), key=lambda item: item[0])
    ]


def _group(
    recorded: RecordedRun, code: str, members: Sequence[tuple[EntityTrace, Fact]]
) -> FailureGroup:
    counts = Counter(story.outcome for story, _ in members)
    return {
        "stage": members[0][1]["stage"],
        "code": code,
        "detail": fact_meaning(f"fact.{code}"),
        "counts": {
            "present": counts["present"],
            "absent": counts["absent"],
            "unknown": counts["unknown"],
            "ambiguous": counts["ambiguous"],
            "recovered": sum(_recovered(story) for story, _ in members),
        },
        "examples": [
            {
                "entity": story.key,
                "evidenceId": failure["evidenceId"],
                "url": recorded.page_url(story.page) if story.page else None,
            }
            for story, failure in members[:MOST_EXAMPLES]
        ],
    }


def _missing_cells(
    recorded: RecordedRun, known: Mapping[str, EntityTrace]
) -> Iterator[MissingCells]:
    """The empty cells of each field, of the rows that the Run read."""
    facts = recorded.facts
    rows = [story.row for story in known.values() if story.outcome == "present" and story.row]
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
