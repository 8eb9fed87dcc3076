"""The diagnostics of a Run, as answered (interface 2.12)."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypedDict

from msgspec import Struct

from livedata.model.dataset import RunStatus
from livedata.model.diagnosis.entities import EntityDiagnosis, RunLossSummary
from livedata.model.run import Candidate, PhaseTotal, SearchObservations
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Unknowns, Uri, Uuid


class Asked(Struct, frozen=True):
    """What a question about a Run asks beside the areas; `field` is the id of a column."""

    entity: str | None = None
    field: str | None = None
    summary: bool = False


class Finding(TypedDict):
    """Interface 2.12: what a fixed rule derives from recorded facts."""

    code: Annotated[str, SchemaKeyword("maxLength", 100)]
    message: Annotated[str, SchemaKeyword("maxLength", 1000)]


class PlanAttribute(TypedDict):
    """Interface 2.12: one field that the plan collects."""

    fieldId: Uuid
    label: str
    description: NotRequired[str]


class Plan(TypedDict):
    """Interface 2.12: what was to be collected, as far as a plan was recorded."""

    # Not of the words that every research plan says: a Run of selectors has none of them, and what
    # a Run recorded may be all that is left of its plan.

    title: NotRequired[str]
    rowMeaning: NotRequired[str]
    nameLabel: NotRequired[str]
    query: NotRequired[str]
    attributes: NotRequired[list[PlanAttribute]]


class RequestObservations(TypedDict, total=False):
    """Interface 2.12: what was asked for."""

    prompt: str
    sourceUrl: Uri
    plan: Plan


class SourceCounts(TypedDict):
    """Interface 2.12: what became of each known page; the first is the sum of the others."""

    discovered: NonNegativeInt
    checked: NonNegativeInt
    unreadable: NonNegativeInt
    unknown: NonNegativeInt
    unattempted: NonNegativeInt


class SourceObservations(TypedDict, total=False):
    """Interface 2.12: the pages."""

    # The way in which pages were found; a declared source has none.
    discovery: SearchObservations
    counts: SourceCounts
    candidates: list[Candidate]


class FieldCounts(TypedDict):
    """Interface 2.12: what became of a field's cells."""

    fieldId: Uuid
    label: str
    populated: NonNegativeInt
    notFound: NonNegativeInt
    extractionFailed: NonNegativeInt


class CellObservations(TypedDict, total=False):
    """Interface 2.12: the rows and cells."""

    rowsFromRun: NonNegativeInt
    rowsInTable: NonNegativeInt
    fields: list[FieldCounts]


class Duplicate(TypedDict):
    """Interface 2.12: a record that was offered again for a name that had one."""

    name: str
    url: Uri
    winnerUrl: Uri
    offered: list[str]
    merged: list[str]


class ReconciliationObservations(TypedDict, total=False):
    """Interface 2.12: which records became which rows."""

    rejected: dict[str, int]
    quotesDropped: NonNegativeInt
    duplicates: list[Duplicate]


class Stop(TypedDict):
    """Interface 2.12: the rule that ended a Run, and what it was applied to."""

    rule: str
    inputs: dict[str, Any]


class CompletionObservations(TypedDict, total=False):
    """Interface 2.12: how the Run ended."""

    status: RunStatus
    stop: Stop
    error: str


class CostObservations(TypedDict, total=False):
    """Interface 2.12: what it took."""

    usage: dict[str, float]
    queueMs: NonNegativeInt
    wallMs: NonNegativeInt
    phases: list[PhaseTotal]


class Area(TypedDict):
    """Interface 2.12: what follows from the recorded facts, and what was not recorded."""

    findings: list[Finding]
    unknowns: Unknowns


class RequestArea(Area):
    """Interface 2.12: what was asked for."""

    observations: RequestObservations


class SourcesArea(Area):
    """Interface 2.12: the pages."""

    observations: SourceObservations


class CellsArea(Area):
    """Interface 2.12: the rows and cells."""

    observations: CellObservations


class ReconciliationArea(Area):
    """Interface 2.12: records to rows."""

    observations: ReconciliationObservations


class CompletionArea(Area):
    """Interface 2.12: the end."""

    observations: CompletionObservations


class CostArea(TypedDict):
    """Interface 2.12: the one area without findings."""

    observations: CostObservations
    unknowns: Unknowns


class RunDiagnostics(TypedDict):
    """Interface 2.12: the explanation of the latest recorded attempt at a Run."""

    runId: Uuid
    datasetId: Uuid
    status: RunStatus
    attemptId: Uuid | None
    harnessVersion: str | None
    request: RequestArea
    sources: SourcesArea
    cells: CellsArea
    reconciliation: ReconciliationArea
    completion: CompletionArea
    cost: CostArea
    entity: NotRequired[EntityDiagnosis]
    summary: NotRequired[RunLossSummary]
