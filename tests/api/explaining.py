"""The tables of what explains a Run: interface 2.9 to 2.12."""

from __future__ import annotations

from collections.abc import Mapping

from tests.api.kinds import (
    ANY,
    BOOLEAN,
    COUNT,
    FEW,
    INTEGER,
    NUMBER,
    RUN_STATUS,
    SAFE,
    SHORT_URI,
    STRING,
    URI,
    UUID,
    WHEN,
    Is,
    Table,
    a,
    by_name,
    many,
    maybe,
    null,
    some,
    text,
)

PHASE = some(
    *("planning", "configure", "pin", "search", "read", "extract", "validate", "preview", "accept")
)
OUTCOME = some("present", "absent", "unknown", "ambiguous")
STAGE = some(
    *("discovery", "selection", "retrieval", "extraction", "validation", "reconciliation", "output")
)
BASIS = some("recorded", "replay")
UNKNOWNS = many(text(0, 1000), 0, 20)


def _area(name: str) -> Table:
    return {"observations": a(name), "findings": many(a("Finding")), "unknowns": UNKNOWNS}


SEARCH: Table = {
    "attemptId": UUID,
    "query": STRING,
    "depth": STRING,
    "excludeDomains": many(STRING),
    "credits": maybe(NUMBER),
}

TABLES: Mapping[str, Table] = {
    # 2.9, 4.3
    "ArtifactIndex": {
        "runId": UUID,
        "recipe": null(a("SentRecipe")),
        "truncated": BOOLEAN,
        "artifacts": many(a("RunArtifact"), 0, 200),
    },
    # 2.10
    "SentRecipe": {
        "kind": some("research"),
        "version": INTEGER,
        "prompt": STRING,
        "url": URI,
        "identity": some("entity"),
        "fields": a("PinnedFields"),
        "plan": a("SentPlan"),
    },
    "PinnedFields": {"name": UUID, "evidence": UUID, "source": UUID},
    "SentPlan": {
        "title": STRING,
        "rowMeaning": STRING,
        "nameLabel": STRING,
        "query": STRING,
        "rowIdentity": a("PlannedIdentity"),
        "attributes": many(a("SentAttribute")),
    },
    "PlannedIdentity": {
        "description": STRING,
        "kind": some("company", "person", "product", "event", "trend", "other"),
        "scopeFields": many(STRING),
    },
    "SentAttribute": {"fieldId": UUID, "label": STRING, "description": STRING},
    "RunArtifact": {
        "id": UUID,
        "attemptId": UUID,
        "stepId": UUID,
        "kind": STRING,
        "sourceUrl": URI,
        "sha256": STRING,
        "bytes": INTEGER,
        "truncated": BOOLEAN,
        "createdAt": WHEN,
        "body": null(STRING),
    },
    # 2.11
    "RunTrace": {
        "runId": UUID,
        "datasetId": UUID,
        "status": RUN_STATUS,
        "queueMs": null(COUNT),
        "wallMs": null(COUNT),
        "truncated": BOOLEAN,
        "phases": many(a("PhaseTotal"), 0, 9),
        "steps": many(a("TraceStep"), 0, 1000),
        "harnessVersion": null(text(0, 100)),
        "discovery": null(a("RunDiscovery")),
    },
    "RunDiscovery": {**SEARCH, "candidates": many(a("Candidate"))},
    "PhaseTotal": {"phase": PHASE, "count": COUNT, "totalMs": COUNT, "maxMs": COUNT},
    "TraceStep": {
        "stepId": UUID,
        "attemptId": UUID,
        "phase": PHASE,
        "status": some("running", "succeeded", "failed", "cancelled"),
        "startedAt": WHEN,
        "durationMs": maybe(COUNT),
        "candidateRows": maybe(FEW),
        "rejectedRows": maybe(FEW),
        "matchedRows": maybe(FEW),
        "sourceUrl": maybe(SHORT_URI),
        "readFailure": maybe(a("ReadFailure")),
    },
    "ReadFailure": {
        "reason": some(
            *("challenge", "forbidden", "rate_limited", "login_redirect", "empty_body"),
            *("connection_reset", "robots_disallowed", "timeout", "cancelled", "network"),
            *("http_error", "invalid_content", "limit_exceeded", "unsafe_target", "unknown"),
        ),
        "status": null(Is("integer", low=100, high=599)),
        "finalUrl": null(SHORT_URI),
    },
    # 2.12
    "RunDiagnostics": {
        "runId": UUID,
        "datasetId": UUID,
        "status": RUN_STATUS,
        "attemptId": null(STRING),
        "harnessVersion": null(STRING),
        "request": a("RequestArea"),
        "sources": a("SourcesArea"),
        "cells": a("CellsArea"),
        "reconciliation": a("ReconciliationArea"),
        "completion": a("CompletionArea"),
        "cost": a("CostArea"),
        "entity": maybe(a("EntityDiagnosis")),
        "summary": maybe(a("RunLossSummary")),
    },
    "RequestArea": _area("RequestObservations"),
    "SourcesArea": _area("SourceObservations"),
    "CellsArea": _area("CellObservations"),
    "ReconciliationArea": _area("ReconciliationObservations"),
    "CompletionArea": _area("CompletionObservations"),
    "CostArea": {"observations": a("CostObservations"), "unknowns": UNKNOWNS},
    "Finding": {"code": text(0, 100), "message": text(0, 1000)},
    "RequestObservations": {
        "prompt": maybe(STRING),
        "sourceUrl": maybe(STRING),
        "plan": maybe(a("Plan")),
    },
    "Plan": {
        "title": maybe(STRING),
        "rowMeaning": maybe(STRING),
        "nameLabel": maybe(STRING),
        "query": maybe(STRING),
        "attributes": maybe(many(a("PlanAttribute"))),
    },
    "PlanAttribute": {"fieldId": STRING, "label": STRING, "description": maybe(STRING)},
    "SourceObservations": {
        "discovery": maybe(a("SearchObservations")),
        "counts": maybe(a("SourceCounts")),
        "candidates": maybe(many(a("Candidate"))),
    },
    "SourceCounts": dict.fromkeys(
        ("discovered", "checked", "unreadable", "unknown", "unattempted"), INTEGER
    ),
    "SearchObservations": SEARCH,
    "Candidate": {
        "rank": INTEGER,
        "url": STRING,
        "title": maybe(STRING),
        "score": maybe(NUMBER),
        "outcome": STRING,
    },
    "CellObservations": {
        "rowsFromRun": maybe(INTEGER),
        "rowsInTable": maybe(INTEGER),
        "fields": maybe(many(a("FieldCounts"))),
    },
    "FieldCounts": {
        "fieldId": UUID,
        "label": STRING,
        "populated": INTEGER,
        "notFound": INTEGER,
        "extractionFailed": INTEGER,
    },
    "ReconciliationObservations": {
        "rejected": maybe(by_name(INTEGER)),
        "quotesDropped": maybe(INTEGER),
        "duplicates": maybe(many(a("Duplicate"))),
    },
    "Duplicate": {
        "name": STRING,
        "url": STRING,
        "winnerUrl": STRING,
        "offered": many(STRING),
        "merged": many(STRING),
    },
    "CompletionObservations": {
        "status": maybe(RUN_STATUS),
        "stop": maybe(a("Stop")),
        "error": maybe(STRING),
    },
    "Stop": {"rule": STRING, "inputs": by_name(ANY)},
    "CostObservations": {
        "usage": maybe(by_name(NUMBER)),
        "queueMs": maybe(INTEGER),
        "wallMs": maybe(INTEGER),
        "phases": maybe(many(a("PhaseTotal"))),
    },
    "Fact": {
        "stage": STAGE,
        "code": STRING,
        "detail": STRING,
        "evidenceId": STRING,
        "failure": BOOLEAN,
    },
    "EntityDiagnosis": {
        "entity": STRING,
        "basis": BASIS,
        "attemptId": null(STRING),
        "matchedNames": many(STRING),
        "outcome": OUTCOME,
        "field": null(STRING),
        "entityFacts": many(a("Fact")),
        "cells": many(a("DiagnosedCell")),
        "paths": many(a("EntityPath")),
        "firstFailures": many(a("FirstFailure")),
        "recovered": BOOLEAN,
        "peers": many(a("Peer")),
        "unknowns": many(STRING),
    },
    "DiagnosedCell": {
        "rowId": STRING,
        "fieldId": STRING,
        "value": ANY,
        "missingReason": null(STRING),
        "evidenceIds": many(STRING),
    },
    "EntityPath": {
        "url": STRING,
        "facts": many(a("Fact")),
        "unknownStages": many(STAGE),
        "firstFailure": null(a("Fact")),
    },
    "FirstFailure": {"code": STRING, "urls": many(STRING)},
    "Peer": {"entity": STRING, "codes": many(STRING), "outcome": OUTCOME},
    "RunLossSummary": {
        "basis": BASIS,
        "attemptId": null(STRING),
        "outputComplete": BOOLEAN,
        "totals": a("OutcomeTotals"),
        "entities": many(a("SummaryEntity")),
        "failureGroups": many(a("FailureGroup")),
        "duplicates": a("DuplicateGroup"),
        "missingCells": many(a("MissingCells")),
        "unknowns": many(STRING),
    },
    "OutcomeTotals": dict.fromkeys(
        ("present", "absent", "unknown", "ambiguous", "recovered", "entities"), SAFE
    ),
    "OutcomeCounts": dict.fromkeys(
        ("present", "absent", "unknown", "ambiguous", "recovered"), INTEGER
    ),
    "SummaryEntity": {
        "entity": STRING,
        "aliases": many(STRING),
        "outcome": OUTCOME,
        "recovered": BOOLEAN,
        "failureCodes": many(STRING),
    },
    "FailureGroup": {
        "stage": STAGE,
        "code": STRING,
        "detail": STRING,
        "counts": a("OutcomeCounts"),
        "examples": many(a("FailureExample")),
    },
    "FailureExample": {"entity": STRING, "evidenceId": STRING, "url": null(STRING)},
    "DuplicateGroup": {"entities": INTEGER, "examples": many(a("DuplicateExample"))},
    "DuplicateExample": {"entity": STRING, "code": STRING, "evidenceId": STRING},
    "MissingCells": {
        "fieldId": STRING,
        "label": STRING,
        "observedRows": INTEGER,
        "missing": INTEGER,
        "reasons": by_name(INTEGER),
        "examples": many(a("MissingCellExample")),
    },
    "MissingCellExample": {"entity": STRING, "rowId": STRING, "reason": null(STRING)},
}
