"""What is wrapped around an answer: specification 4."""

from __future__ import annotations

from typing import NotRequired, TypedDict

from livedata.model.dataset import Dataset
from livedata.model.diagnosis import RunDiagnostics
from livedata.model.row import Row
from livedata.model.run import Run, RunArtifact, RunTrace
from livedata.model.wire import Count, Uuid


class DatasetAnswer(TypedDict):
    """One dataset."""

    dataset: Dataset


class DatasetPage(TypedDict):
    """A page of datasets, newest first."""

    data: list[Dataset]
    nextCursor: str | None


class RowPage(TypedDict):
    """A page of current rows, the latest updated first."""

    data: list[Row]
    nextCursor: str | None


class RunAnswer(TypedDict):
    """One Run."""

    run: Run


class RunList(TypedDict):
    """The recent Runs of a dataset, newest first."""

    data: list[Run]


class RunQueued(TypedDict):
    """A Run that is durably queued, and the credits that are left."""

    runId: Uuid
    creditsRemaining: Count


class ArtifactAnswer(TypedDict):
    """One artifact with its body."""

    artifact: RunArtifact


class DiagnosticsAnswer(TypedDict):
    """The explanation of a Run."""

    diagnostics: RunDiagnostics


class TraceAnswer(TypedDict):
    """The timing of a Run."""

    trace: RunTrace


class ErrorDetail(TypedDict):
    """One place that is wrong, such as ``source.fields[0].read.attribute``."""

    path: str
    message: str


class ErrorBody(TypedDict):
    """A code for programs, a sentence for people, and where there are any, the wrong places."""

    code: str
    message: str
    details: NotRequired[list[ErrorDetail]]


class ErrorAnswer(TypedDict):
    """Every answer that is not a success."""

    error: ErrorBody
