"""Rows, their evidence and their history, as answered: specification 2.4 to 2.7."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from livedata.model.dataset import Schema

Scalar = str | int | float | bool | None
Presence = Literal["present", "missing"]
RowStatus = Literal["new", "changed", "unchanged", "gone"]
MissingReason = Literal["unknown", "not_found", "not_applicable", "extraction_failed"]
Origin = Literal["collection", "user", "migration"]
RevisionKind = Literal["created", "updated", "missing", "returned", "baseline"]

Cells = dict[str, Scalar]
"""Field id -> value."""
MissingReasons = dict[str, MissingReason]
"""Field id -> why the collected cell is null."""


class ResearchRowIdentity(TypedDict):
    """Specification 2.4: what a researched row stands for."""

    version: Literal[1]
    key: str
    kind: Literal["company", "person", "product", "event", "trend", "other"]
    anchor: str
    aliases: list[str]


class EvidenceRef(TypedDict):
    """Specification 2.5: one entry of one observation."""

    observationId: str
    entryId: str


FieldEvidence = dict[str, list[EvidenceRef]]


class CellOverride(TypedDict):
    """Specification 2.5: the latest source value of a cell that was edited by hand."""

    value: Scalar
    evidence: list[EvidenceRef]
    missingReason: NotRequired[MissingReason]


CellOverrides = dict[str, CellOverride]


class ObservationEntry(TypedDict):
    """Specification 2.5: the text of one cell as read, at most 2,048 UTF-8 bytes of it."""

    id: str
    excerpt: str
    truncated: bool


class SourceObservation(TypedDict):
    """Specification 2.5: one page as one Run saw it."""

    id: str
    datasetId: NotRequired[str]
    runId: NotRequired[str]
    localId: NotRequired[str]
    sourceKey: NotRequired[str]
    scopeKey: NotRequired[str]
    pageKey: NotRequired[str]
    method: NotRequired[Literal["deterministic", "model"]]
    sourceUrl: str
    observedAt: str
    contentDigest: str
    entries: list[ObservationEntry]


class Row(TypedDict):
    """Specification 2.4: a row as listed."""

    id: str
    rowKey: str
    identity: ResearchRowIdentity | None
    data: Cells
    revisionId: str | None
    presence: Presence
    missingReasons: MissingReasons
    status: RowStatus
    firstSeenRunId: str
    lastSeenRunId: str
    sourceUrl: str
    observedAt: str
    updatedAt: str


class RowDetail(Row):
    """Specification 2.5: a single row with its evidence."""

    datasetId: str
    evidence: FieldEvidence
    overrides: CellOverrides
    observations: list[SourceObservation]


class RowRevision(TypedDict):
    """Specification 2.6: the whole row after one change."""

    id: str
    datasetId: str
    rowId: str
    sequence: int
    schemaVersion: int
    previousRevisionId: str | None
    origin: Origin
    kind: RevisionKind
    changedFieldIds: list[str]
    data: Cells
    evidence: FieldEvidence
    missingReasons: MissingReasons
    presence: Presence
    createdAt: str
    runId: str | None
    actorId: str | None
    requestId: str | None
    requestHash: str | None
    overrides: CellOverrides


class Change(RowRevision):
    """Specification 2.7: a revision in the feed, with what stood before it."""

    before: Cells | None
    beforeOverrides: NotRequired[CellOverrides]


class ChangePage(TypedDict):
    """Specification 2.7: a fixed window of the history of a dataset."""

    data: list[Change]
    schemas: list[Schema]
    observations: list[SourceObservation]
    through: int
    nextAfter: int | None
