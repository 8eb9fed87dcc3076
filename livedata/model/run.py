"""A Run as answered, and its trace: interface 2.8 and 2.11."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired, TypedDict, get_args

from msgspec import Struct

from livedata.model.dataset import RunStatus
from livedata.model.problem import Problem
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Timestamp, Uri, Uuid

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
"""Interface 3: the reasons by which a site does not let itself be read."""

Guard = Literal["mass_loss", "lost_pagination", "emptied_field"]
"""A drift guard (rules 7.9), as settings name it."""
GUARDS: tuple[Guard, ...] = get_args(Guard)
HELD_BY_GUARDS: frozenset[str] = frozenset(
    {*(f"run.{guard}" for guard in GUARDS), "run.keys_changed"}
)
"""The problems of Runs that a guard held; keys that changed are a form of a mass loss."""

Stage = Literal[
    "discovery",
    "selection",
    "retrieval",
    "extraction",
    "validation",
    "reconciliation",
    "output",
]
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
ResearchStop = Literal[
    "all_selected_pages_checked",
    "page_budget",
    "token_limit",
    "cost_limit",
    "deadline",
    "planning_failed",
    "search_failed",
    "model_auth",
    "model_unavailable",
    "cancelled",
]
"""The rule by which a research Run stops asking."""
StepStatus = Literal["running", "succeeded", "failed", "cancelled"]


Address = Annotated[Uri, SchemaKeyword("maxLength", 2048)]
FewRows = Annotated[int, SchemaKeyword("minimum", 0), SchemaKeyword("maximum", 25)]

KEPT_FOR = 30 * 86_400 * 1_000_000
"""How long what a Run leaves behind is kept (held output, page, steps), in microseconds."""
FACTS_KEPT_FOR = 90 * 86_400 * 1_000_000
"""How long the facts of an accepted Run are kept, in microseconds."""


class CheckResult(TypedDict):
    """Interface 2.8: one Check; ``message`` only where there is something to say."""

    checkId: str
    passed: bool
    message: NotRequired[str]


class Check(Struct, frozen=True):
    """One Check as it was judged: it passed if it found no problem.

    `of_whole` is true of one that says nothing of the first pages of a list.
    """

    id: str
    problem: Problem | None = None
    of_whole: bool = False

    @property
    def passed(self) -> bool:
        """Whether it found nothing wrong."""
        return self.problem is None


def present_check_id(field: Uuid) -> str:
    """The id of the Check that a required field is filled in every row."""
    return f"present:{field}"


def split_check_id(check_id: str) -> tuple[str, Uuid]:
    """The (kind, field) of a Check; the field is empty if it judges the whole list."""
    kind, _, field = check_id.partition(":")
    return kind, field


class RowDeltas(TypedDict):
    """Interface 2.8: what an accepted Run did to the rows."""

    new: NonNegativeInt
    changed: NonNegativeInt
    gone: NonNegativeInt


class Run(TypedDict):
    """Interface 2.8: all fields, always."""

    id: Uuid
    datasetId: Uuid
    status: RunStatus
    checks: list[CheckResult]
    rowDeltas: RowDeltas
    error: str | None
    queuedAt: Timestamp
    startedAt: Timestamp | None
    completedAt: Timestamp | None


class ReadFailure(TypedDict):
    """Interface 2.11: why a page could not be read; of the address only the origin."""

    reason: FailureReason
    status: Annotated[int, SchemaKeyword("minimum", 100), SchemaKeyword("maximum", 599)] | None
    finalUrl: Address | None


class TraceStep(TypedDict):
    """Interface 2.11: one step of one attempt."""

    stepId: Uuid
    attemptId: Uuid
    phase: Phase
    status: StepStatus
    startedAt: Timestamp
    durationMs: NotRequired[NonNegativeInt]
    candidateRows: NotRequired[FewRows]
    rejectedRows: NotRequired[FewRows]
    matchedRows: NotRequired[FewRows]
    sourceUrl: NotRequired[Address]
    readFailure: NotRequired[ReadFailure]


class PhaseTotal(TypedDict):
    """Interface 2.11: how long the steps of a phase took together, overlapping work added."""

    phase: Phase
    count: NonNegativeInt
    totalMs: NonNegativeInt
    maxMs: NonNegativeInt


class Candidate(TypedDict):
    """Interface 2.12: one page that was to be read."""

    rank: NonNegativeInt
    url: Uri
    title: NotRequired[str]
    score: NotRequired[float]
    outcome: str


class SearchObservations(TypedDict):
    """Interface 2.12: what was searched for; without `credits` nobody told what it took."""

    attemptId: Uuid
    query: str
    depth: str
    excludeDomains: list[str]
    credits: NotRequired[float]


class RunDiscovery(SearchObservations):
    """Interface 2.11: a search with its results, in the order of the provider."""

    candidates: list[Candidate]


class RunTrace(TypedDict):
    """Interface 2.11: timing metadata of a Run."""

    runId: Uuid
    datasetId: Uuid
    status: RunStatus
    queueMs: NonNegativeInt | None
    wallMs: NonNegativeInt | None
    truncated: bool
    phases: Annotated[list[PhaseTotal], SchemaKeyword("maxItems", 9)]
    steps: Annotated[list[TraceStep], SchemaKeyword("maxItems", 1000)]
    harnessVersion: Annotated[str, SchemaKeyword("maxLength", 100)] | None
    discovery: RunDiscovery | None
