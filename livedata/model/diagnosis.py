"""What explains a Run, as answered: its artifacts and its diagnostics (specification 2.9, 2.12)."""

from __future__ import annotations

from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from livedata.model.dataset import RunStatus
from livedata.model.losses import EntityDiagnosis, RunLossSummary
from livedata.model.run import PhaseTotal

Observations = TypeVar("Observations")


class RunArtifact(TypedDict):
    """Specification 2.9: one body recorded while a Run was made; null in the index."""

    id: str
    attemptId: str
    stepId: str
    kind: str
    sourceUrl: str
    sha256: str
    bytes: int
    truncated: bool
    createdAt: str
    body: str | None


class ArtifactIndex(TypedDict):
    """Specification 4.3: what was recorded of a Run; no recipe for a deterministic one."""

    runId: str
    recipe: dict[str, Any] | None
    truncated: bool
    artifacts: list[RunArtifact]


class Finding(TypedDict):
    """Specification 2.12: what a fixed rule derives from recorded facts."""

    code: str
    message: str


class PlanAttribute(TypedDict):
    """Specification 2.12: one field that the plan collects."""

    fieldId: str
    label: str
    description: NotRequired[str]


class Plan(TypedDict):
    """Specification 2.12: what was to be collected, as far as a plan was recorded."""

    title: NotRequired[str]
    rowMeaning: NotRequired[str]
    nameLabel: NotRequired[str]
    query: NotRequired[str]
    attributes: NotRequired[list[PlanAttribute]]


class RequestObservations(TypedDict, total=False):
    """Specification 2.12: what was asked for."""

    prompt: str
    sourceUrl: str
    plan: Plan


class SourceCounts(TypedDict):
    """Specification 2.12: what became of each known page; the first is the sum of the others."""

    discovered: int
    checked: int
    unreadable: int
    unknown: int
    unattempted: int


class Candidate(TypedDict):
    """Specification 2.12: one page that was to be read."""

    rank: int
    url: str
    title: NotRequired[str]
    score: NotRequired[float]
    outcome: str


class SourceObservations(TypedDict, total=False):
    """Specification 2.12: the pages."""

    discovery: dict[str, Any]
    counts: SourceCounts
    candidates: list[Candidate]


class FieldCounts(TypedDict):
    """Specification 2.12: what became of a field's cells."""

    fieldId: str
    label: str
    populated: int
    notFound: int
    extractionFailed: int


class CellObservations(TypedDict, total=False):
    """Specification 2.12: the rows and cells."""

    rowsFromRun: int
    rowsInTable: int
    fields: list[FieldCounts]


class Duplicate(TypedDict):
    """Specification 2.12: a record that was offered again for a name that had one."""

    name: str
    url: str
    winnerUrl: str
    offered: list[str]
    merged: list[str]


class ReconciliationObservations(TypedDict, total=False):
    """Specification 2.12: which records became which rows."""

    rejected: dict[str, int]
    quotesDropped: int
    duplicates: list[Duplicate]


class Stop(TypedDict):
    """Specification 2.12: the rule that ended a Run, and what it was applied to."""

    rule: str
    inputs: dict[str, Any]


class CompletionObservations(TypedDict, total=False):
    """Specification 2.12: how the Run ended."""

    status: RunStatus
    stop: Stop
    error: str


class CostObservations(TypedDict, total=False):
    """Specification 2.12: what it took."""

    usage: dict[str, float]
    queueMs: int
    wallMs: int
    phases: list[PhaseTotal]


class Area(TypedDict, Generic[Observations]):
    """Specification 2.12: recorded facts, what follows from them, and what was not recorded."""

    observations: Observations
    findings: list[Finding]
    unknowns: list[str]


class CostArea(TypedDict):
    """Specification 2.12: the one area without findings."""

    observations: CostObservations
    unknowns: list[str]


class RunDiagnostics(TypedDict):
    """Specification 2.12: the explanation of the latest recorded attempt at a Run."""

    runId: str
    datasetId: str
    status: RunStatus
    attemptId: str | None
    harnessVersion: str | None
    request: Area[RequestObservations]
    sources: Area[SourceObservations]
    cells: Area[CellObservations]
    reconciliation: Area[ReconciliationObservations]
    completion: Area[CompletionObservations]
    cost: CostArea
    entity: NotRequired[EntityDiagnosis]
    summary: NotRequired[RunLossSummary]
