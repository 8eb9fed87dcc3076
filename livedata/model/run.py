"""A Run as answered, and its trace: specification 2.8 and 2.11."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from livedata.model.dataset import RunStatus

FailureReason = Literal[
    "challenge",
    "forbidden",
    "rate_limited",
    "login_redirect",
    "empty_body",
    "connection_reset",
    "robots_disallowed",
    "timeout",
    "cancelled",
    "network",
    "http_error",
    "invalid_content",
    "limit_exceeded",
    "unsafe_target",
    "unknown",
]
REFUSALS: frozenset[FailureReason] = frozenset(
    {"challenge", "forbidden", "rate_limited", "login_redirect", "empty_body"}
)
"""Specification 3: what a site says when it does not want to be read."""

Phase = Literal[
    "planning",
    "configure",
    "pin",
    "search",
    "read",
    "extract",
    "validate",
    "preview",
    "accept",
]
StepStatus = Literal["running", "succeeded", "failed", "cancelled"]


class CheckResult(TypedDict):
    """Specification 2.8: one Check; ``message`` only where there is something to say."""

    checkId: str
    passed: bool
    message: NotRequired[str]


class RowDeltas(TypedDict):
    """Specification 2.8: what an accepted Run did to the rows."""

    new: int
    changed: int
    gone: int


class Run(TypedDict):
    """Specification 2.8: all fields, always."""

    id: str
    datasetId: str
    status: RunStatus
    checks: list[CheckResult]
    rowDeltas: RowDeltas
    error: str | None
    queuedAt: str
    startedAt: str | None
    completedAt: str | None


class ReadFailure(TypedDict):
    """Specification 2.11: why a page could not be read; of the address only the origin."""

    reason: FailureReason
    status: int | None
    finalUrl: str | None


class TraceStep(TypedDict):
    """Specification 2.11: one step of one attempt."""

    stepId: str
    attemptId: str
    phase: Phase
    status: StepStatus
    startedAt: str
    durationMs: NotRequired[int]
    sourceUrl: NotRequired[str]
    readFailure: NotRequired[ReadFailure]


class PhaseTotal(TypedDict):
    """Specification 2.11: how long the steps of a phase took together, overlapping work added."""

    phase: Phase
    count: int
    totalMs: int
    maxMs: int


class RunTrace(TypedDict):
    """Specification 2.11: timing metadata of a Run."""

    runId: str
    datasetId: str
    status: RunStatus
    queueMs: int | None
    wallMs: int | None
    truncated: bool
    phases: list[PhaseTotal]
    steps: list[TraceStep]
    harnessVersion: str | None
    discovery: None
