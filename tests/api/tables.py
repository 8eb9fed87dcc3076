"""The tables of fields, as strict data: interface 2, 4 and 7, and the rules.

Written by hand, and from nothing else: a key that is not here is wrong, one that is missing is
wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.api.explaining import TABLES as EXPLAINING
from tests.api.kinds import (
    BOOLEAN,
    COUNT,
    INTEGER,
    ORDINAL,
    RUN_STATUS,
    SCALAR,
    STRING,
    URI,
    UUID,
    WHEN,
    Is,
    Table,
    a,
    by_field,
    many,
    maybe,
    null,
    some,
    text,
)

PRESENCE = some("present", "missing")
ROW_STATUS = some("new", "changed", "unchanged", "gone")
REASON = some("unknown", "not_found", "not_applicable", "extraction_failed")
CELLS, REASONS = by_field(SCALAR), by_field(REASON)
EVIDENCE, OVERRIDES = by_field(many(a("EvidenceRef"))), by_field(a("CellOverride"))
IDENTITY = null(a("ResearchRowIdentity"))

_REVISION: Table = {
    "id": UUID,
    "datasetId": UUID,
    "rowId": UUID,
    "sequence": INTEGER,
    "schemaVersion": INTEGER,
    "previousRevisionId": null(UUID),
    "origin": some("collection", "user", "migration"),
    "kind": some("created", "updated", "missing", "returned", "baseline"),
    "changedFieldIds": many(UUID),
    "data": CELLS,
    "evidence": EVIDENCE,
    "missingReasons": REASONS,
    "presence": PRESENCE,
    "createdAt": WHEN,
    # Optional there; decided: always sent.
    "runId": null(UUID),
    "actorId": null(UUID),
    "requestId": null(STRING),
    "requestHash": null(STRING),
    "overrides": OVERRIDES,
}
_ROW: Table = {
    "id": UUID,
    "rowKey": STRING,
    "identity": IDENTITY,
    "data": CELLS,
    "revisionId": null(UUID),
    "presence": PRESENCE,
    "missingReasons": REASONS,
    "status": ROW_STATUS,
    "firstSeenRunId": UUID,
    "lastSeenRunId": UUID,
    "sourceUrl": URI,
    "observedAt": WHEN,
    "updatedAt": WHEN,
}

TABLES: Mapping[str, Table] = {
    # 2.1
    "Dataset": {
        "id": UUID,
        "name": STRING,
        "question": null(STRING),
        "columns": many(a("Column")),
        "schemaVersion": ORDINAL,
        "status": some("draft", "active", "paused"),
        "schedule": null(STRING),
        "rowCount": COUNT,
        "lastRun": null(a("RunSummary")),
        "createdAt": WHEN,
        "updatedAt": WHEN,
    },
    "RunSummary": {"id": UUID, "status": RUN_STATUS, "completedAt": null(WHEN)},
    # 2.2
    "Column": {
        "id": UUID,
        "label": STRING,
        "ownership": some("collected", "user"),
        "name": STRING,
        "type": some("string", "number", "date", "url", "boolean"),
        "key": BOOLEAN,
        "description": maybe(STRING),
    },
    # 2.4
    "Row": _ROW,
    "ResearchRowIdentity": {
        "version": Is("integer", low=1, high=1),
        "key": Is("string", pattern="^entity:[0-9a-f]{64}$"),
        "kind": some("company", "person", "product", "event", "trend", "other"),
        "anchor": text(1, 4096),
        "aliases": many(text(1, 200), 1, 100),
    },
    # 2.5; what is optional there is always sent: rules 3.2
    "RowDetail": {
        **_ROW,
        "datasetId": UUID,
        "evidence": EVIDENCE,
        "overrides": OVERRIDES,
        "observations": many(a("SourceObservation")),
    },
    "EvidenceRef": {"observationId": UUID, "entryId": STRING},
    "CellOverride": {
        "value": null(SCALAR),
        "evidence": many(a("EvidenceRef")),
        "missingReason": maybe(REASON),
    },
    "SourceObservation": {
        "id": UUID,
        "sourceUrl": URI,
        "observedAt": WHEN,
        "contentDigest": STRING,
        "entries": many(a("ObservationEntry")),
        "datasetId": maybe(UUID),
        "runId": maybe(UUID),
        "localId": maybe(STRING),
        "sourceKey": maybe(STRING),
        "scopeKey": maybe(STRING),
        "pageKey": maybe(STRING),
        "method": maybe(some("deterministic", "model")),
    },
    "ObservationEntry": {"id": STRING, "excerpt": STRING, "truncated": BOOLEAN},
    # 2.6
    "RowRevision": _REVISION,
    # 2.7
    "Change": {**_REVISION, "before": null(CELLS), "beforeOverrides": maybe(OVERRIDES)},
    "ChangePage": {
        "data": many(a("Change"), 0, 100),
        "schemas": many(a("Schema")),
        "observations": many(a("SourceObservation")),
        "through": INTEGER,
        "nextAfter": null(INTEGER),
    },
    "Schema": {
        "id": UUID,
        "datasetId": UUID,
        "version": INTEGER,
        "fields": many(a("Column")),
        "createdAt": WHEN,
    },
    # 2.8
    "Run": {
        "id": UUID,
        "datasetId": UUID,
        "status": RUN_STATUS,
        "checks": many(a("CheckResult")),
        "rowDeltas": a("RowDeltas"),
        "error": null(STRING),
        "queuedAt": WHEN,
        "startedAt": null(WHEN),
        "completedAt": null(WHEN),
    },
    "CheckResult": {"checkId": STRING, "passed": BOOLEAN, "message": maybe(STRING)},
    "RowDeltas": {"new": COUNT, "changed": COUNT, "gone": COUNT},
    # 2.13
    "Usage": {"balance": COUNT, "ledger": many(a("LedgerEntry"))},
    "LedgerEntry": {
        "id": UUID,
        "kind": some("grant", "charge"),
        "credits": INTEGER,
        "balanceAfter": COUNT,
        "datasetId": null(UUID),
        "runId": null(UUID),
        "note": null(STRING),
        "createdAt": WHEN,
    },
    # 4
    "DatasetAnswer": {"dataset": a("Dataset")},
    "DatasetPage": {"data": many(a("Dataset"), 0, 100), "nextCursor": null(STRING)},
    "RowPage": {"data": many(a("Row"), 0, 500), "nextCursor": null(STRING)},
    "RunList": {"data": many(a("Run"), 0, 100)},
    "RunQueued": {"runId": UUID, "creditsRemaining": INTEGER},
    "RunAnswer": {"run": a("Run")},
    "ArtifactAnswer": {"artifact": a("RunArtifact")},
    "DiagnosticsAnswer": {"diagnostics": a("RunDiagnostics")},
    "TraceAnswer": {"trace": a("RunTrace")},
    # An extension
    "TableAnswer": {
        "columns": many(STRING),
        "through": COUNT,
        "state": some("ok", "draft", "paused", "held", "failed", "blocked"),
        "observedAt": null(WHEN),
        "rows": many(many(SCALAR)),
    },
    # 7
    "ErrorAnswer": {"error": a("ErrorBody")},
    "ErrorBody": {
        "code": STRING,
        "message": text(1),
        "details": maybe(many(a("ErrorDetail"), 1)),
    },
    "ErrorDetail": {"path": STRING, "message": text(1)},
    **EXPLAINING,
}
