"""What became of the entities of a Run: one of them, or all (interface 2.12)."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from livedata.model.row import Scalar
from livedata.model.run import Stage
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Uri, Uuid

Outcome = Literal["present", "absent", "unknown", "ambiguous"]
# "replay" is in the interface; here all is derived from what was recorded.
Basis = Literal["recorded", "replay"]
# 2**53 - 1: the largest integer that every reader of JSON keeps exactly.
Total = Annotated[int, SchemaKeyword("minimum", 0), SchemaKeyword("maximum", 2**53 - 1)]


class Fact(TypedDict):
    """Interface 2.12: one recorded thing; `failure` says that it stood in the way."""

    stage: Stage
    code: str
    detail: str
    evidenceId: str
    failure: bool


class DiagnosedCell(TypedDict):
    """Interface 2.12: one cell of an entity as the Run left it."""

    rowId: Uuid
    fieldId: Uuid
    value: Scalar
    missingReason: str | None
    evidenceIds: list[str]


class EntityPath(TypedDict):
    """Interface 2.12: the way of an entity over one page."""

    url: Uri
    facts: list[Fact]
    unknownStages: list[Stage]
    firstFailure: Fact | None


class FirstFailure(TypedDict):
    """Interface 2.12: what first stood in the way, and on which pages."""

    code: str
    urls: list[str]


class Peer(TypedDict):
    """Interface 2.12: another entity of the same pages."""

    entity: str
    codes: list[str]
    outcome: Outcome


class EntityDiagnosis(TypedDict):
    """Interface 2.12: what became of one entity in a Run."""

    entity: str
    basis: Basis
    attemptId: Uuid | None
    matchedNames: list[str]
    outcome: Outcome
    field: str | None
    entityFacts: list[Fact]
    cells: list[DiagnosedCell]
    paths: list[EntityPath]
    firstFailures: list[FirstFailure]
    recovered: bool
    peers: list[Peer]
    unknowns: list[str]


class OutcomeTotals(TypedDict):
    """Interface 2.12: entities by what became of them."""

    present: Total
    absent: Total
    unknown: Total
    ambiguous: Total
    recovered: Total
    entities: Total


class OutcomeCounts(TypedDict):
    """Interface 2.12: the entities of one group of failures."""

    present: NonNegativeInt
    absent: NonNegativeInt
    unknown: NonNegativeInt
    ambiguous: NonNegativeInt
    recovered: NonNegativeInt


class SummaryEntity(TypedDict):
    """Interface 2.12: one entity of a summary."""

    entity: str
    aliases: list[str]
    outcome: Outcome
    recovered: bool
    failureCodes: list[str]


class FailureExample(TypedDict):
    """Interface 2.12: one entity of a group, with where that was recorded."""

    entity: str
    evidenceId: str
    url: Uri | None


class FailureGroup(TypedDict):
    """Interface 2.12: the entities that failed alike."""

    stage: Stage
    code: str
    detail: str
    counts: OutcomeCounts
    examples: list[FailureExample]


class DuplicateExample(TypedDict):
    """Interface 2.12: an entity that was offered more than once."""

    entity: str
    code: str
    evidenceId: str


class DuplicateGroup(TypedDict):
    """Interface 2.12: how many entities were offered more than once."""

    entities: NonNegativeInt
    examples: list[DuplicateExample]


class MissingCellExample(TypedDict):
    """Interface 2.12: one empty cell."""

    entity: str
    rowId: Uuid
    reason: str | None


class MissingCells(TypedDict):
    """Interface 2.12: the empty cells of a field."""

    fieldId: Uuid
    label: str
    observedRows: NonNegativeInt
    missing: NonNegativeInt
    reasons: dict[str, int]
    examples: list[MissingCellExample]


class RunLossSummary(TypedDict):
    """Interface 2.12: what a whole Run lost, and where; all fields, always."""

    basis: Basis
    attemptId: Uuid | None
    outputComplete: bool
    totals: OutcomeTotals
    entities: list[SummaryEntity]
    failureGroups: list[FailureGroup]
    duplicates: DuplicateGroup
    missingCells: list[MissingCells]
    unknowns: list[str]
