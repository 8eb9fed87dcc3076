"""What is recorded of a research Run: it is explained from that alone, and replayed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, TypedDict

from msgspec import Struct, field

from livedata.model.dataset import Column, labels
from livedata.model.diagnosis.diagnostics import RunDiagnostics, Stop
from livedata.model.diagnosis.entities import Basis
from livedata.model.diagnosis.recorded_run import RowAtRun, RunFacts
from livedata.model.problem import Problem
from livedata.model.research.answers import CallUsage, SearchResult
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ArtifactKind, Memory, ResearchFact
from livedata.model.research.stored import SentRecipe
from livedata.model.row import MissingReason
from livedata.model.run import Run, Stage
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Timestamp, Uri, Uuid

ReplayMode = Literal["strict", "loose"]
"""Whether the digest of what is asked must be the recorded one."""


class Discovery(Struct, frozen=True, rename="camel"):
    """A search as it was asked and answered; without `credits` nobody told what it took."""

    query: str
    depth: str
    exclude_domains: Sequence[str] = ()
    credits: float | None = None
    results: Sequence[SearchResult] = ()


class RecordedResearch(Struct, frozen=True):
    """Everything that was recorded of a research Run and its latest attempt.

    `facts` are in the order in which they were recorded. `summary` is what the Run stored at its
    end; it is empty and `stop` is None until then. `known` is what the attempt was told, `rows` the
    table as the Run left it, by key. `calls` are those of all attempts.
    """

    run: Run
    attempt: str | None
    stop: Stop | None
    facts: Sequence[ResearchFact]
    recipe: ResearchRecipe | None
    columns: Sequence[Column]
    basis: Basis = "recorded"
    harness: str | None = None
    summary: RunFacts = field(default_factory=lambda: RunFacts())
    problem: Problem | None = None
    discovery: Discovery | None = None
    known: Memory = field(default_factory=Memory)
    rows: Mapping[str, RowAtRun] = field(default_factory=dict)
    calls: Sequence[CallUsage] = ()

    @property
    def is_over(self) -> bool:
        """Whether the Run has ended."""
        return self.run["status"] not in {"queued", "running"}

    @property
    def accepted(self) -> bool:
        """Whether its output was taken."""
        return self.run["status"] == "succeeded"

    @property
    def labels(self) -> dict[str, str]:
        """The label of each column, by its id."""
        return labels(self.columns)


class RunArtifact(TypedDict):
    """Interface 2.9: one body recorded while a Run was made; null in the index."""

    id: Uuid
    attemptId: Uuid
    stepId: Uuid
    kind: str
    sourceUrl: Uri
    sha256: str
    bytes: NonNegativeInt
    truncated: bool
    createdAt: Timestamp
    body: str | None


class ArtifactIndex(TypedDict):
    """Interface 4.3: what was recorded of a Run; the recipe of a research Run."""

    runId: Uuid
    recipe: SentRecipe | None
    truncated: bool
    artifacts: Annotated[list[RunArtifact], SchemaKeyword("maxItems", 200)]


class ReplayMiss(TypedDict):
    """Something that the harness asks and the Run did not record."""

    kind: ArtifactKind
    sourceUrl: str
    window: str


class ReplayedRow(TypedDict):
    """A row as the replay found it; its cells are by the ids of their columns."""

    rowKey: str
    sourceUrl: str
    new: bool
    data: dict[str, str | None]
    missingReasons: dict[str, MissingReason]
    quotes: dict[str, str]


class ReplayedFact(TypedDict):
    """A fact of the replay, without ids and times."""

    stage: Stage
    code: str
    failure: bool
    detail: str
    sourceUrl: str | None
    entity: str | None
    rowKey: str | None
    fieldId: str | None


class ChangedCell(TypedDict):
    """A cell that a replay finds otherwise."""

    label: str
    recorded: str | None
    replayed: str | None


class ChangedRow(TypedDict):
    """A row that a replay finds otherwise than its Run; only a changed one has cells."""

    rowKey: str
    name: str
    change: Literal["added", "lost", "changed"]
    cells: list[ChangedCell]


class ChangedCode(TypedDict):
    """A code that so many facts of the Run have, and so many of the replay."""

    code: str
    recorded: int
    replayed: int


class ReplayDiff(TypedDict):
    """What a replay finds otherwise than its Run."""

    rows: list[ChangedRow]
    codes: list[ChangedCode]


class ReplayReport(TypedDict):
    """A replay; `runId` is None for a tape that was made without a store."""

    runId: str | None
    mode: ReplayMode
    basis: Literal["replay"]
    harnessVersion: str
    identical: bool
    digest: str | None
    recordedDigest: str | None
    misses: list[ReplayMiss]
    rows: list[ReplayedRow]
    facts: list[ReplayedFact]
    diagnostics: RunDiagnostics
    diff: NotRequired[ReplayDiff]
