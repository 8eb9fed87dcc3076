"""What a replay of a research Run answers."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.research.record import ArtifactKind
from livedata.model.row import MissingReason
from livedata.model.run import Stage

ReplayMode = Literal["strict", "loose"]
"""Whether the digest of what is asked must be the recorded one."""


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
