"""The outer objects of answers: interface 4."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from livedata.model.dataset import Dataset
from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.diagnosis.recorded_research import RunArtifact
from livedata.model.row import Row, Scalar
from livedata.model.run import Run, RunTrace
from livedata.model.wire import NonNegativeInt, SchemaKeyword, Sentence, Timestamp, Uuid
from livedata.services.served_tables import TableState


class DatasetAnswer(TypedDict):
    """One dataset."""

    dataset: Dataset


class DatasetPage(TypedDict):
    """A page of datasets, newest first."""

    data: Annotated[list[Dataset], SchemaKeyword("maxItems", 100)]
    nextCursor: str | None


class RowPage(TypedDict):
    """A page of current rows, the latest updated first."""

    data: Annotated[list[Row], SchemaKeyword("maxItems", 500)]
    nextCursor: str | None


class RunAnswer(TypedDict):
    """One Run."""

    run: Run


class RunList(TypedDict):
    """The recent Runs of a dataset, newest first."""

    data: Annotated[list[Run], SchemaKeyword("maxItems", 100)]


class RunQueued(TypedDict):
    """A Run that is durably queued, and the credits that are left."""

    runId: Uuid
    creditsRemaining: NonNegativeInt


class ArtifactAnswer(TypedDict):
    """One artifact with its body."""

    artifact: RunArtifact


class DiagnosticsAnswer(TypedDict):
    """The explanation of a Run."""

    diagnostics: RunDiagnostics


class TableAnswer(TypedDict):
    """The rows of a table, each with its values in the order of `columns`.

    `through` is the sequence of the last change in it. `state` tells whether these rows, the last
    good ones, may be old, and `observedAt` when a Run was accepted last.
    """

    columns: list[str]
    through: NonNegativeInt
    state: TableState
    observedAt: Timestamp | None
    rows: list[list[Scalar]]


class TraceAnswer(TypedDict):
    """The timing of a Run."""

    trace: RunTrace


class ErrorDetail(TypedDict):
    """One place that is wrong, such as ``source.fields[0].read.attribute``."""

    path: str
    message: Sentence


class ErrorBody(TypedDict):
    """A code for programs, a sentence for people, and where there are any, the wrong places."""

    code: str
    message: Sentence
    details: NotRequired[Annotated[list[ErrorDetail], SchemaKeyword("minItems", 1)]]


class ErrorAnswer(TypedDict):
    """Every answer that is not a success."""

    error: ErrorBody
