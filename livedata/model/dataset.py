"""A dataset as it is answered: interface 2.1 and 2.2.

Answers are typed dictionaries in the form that is sent: the store builds them, tests hold them to
the interface, and printing one costs no more than writing JSON.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal, NotRequired, TypedDict

from livedata.model.wire import NonNegativeInt, PositiveInt, Timestamp, Uuid

DatasetStatus = Literal["draft", "active", "paused"]
RunStatus = Literal["queued", "running", "succeeded", "failed", "blocked", "held"]
ColumnType = Literal["string", "number", "date", "url", "boolean"]
CollectedType = Literal["string", "number", "boolean"]
"""The types of columns that Runs collect."""

TYPES_OF: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "date": (str,),
    "url": (str,),
    "number": (int, float),
    "boolean": (bool,),
}
"""The type of a column -> the types of its values."""


class Column(TypedDict):
    """Interface 2.2 as sent: ``description`` only where there is one."""

    id: Uuid
    label: str
    ownership: Literal["collected", "user"]
    name: str
    type: ColumnType
    key: bool
    description: NotRequired[str]


def labels(columns: Iterable[Column]) -> dict[str, str]:
    """The label of each column, by its id."""
    return {column["id"]: column["label"] for column in columns}


class RunSummary(TypedDict):
    """Interface 2.1: the newest Run of a dataset, open ones too."""

    id: Uuid
    status: RunStatus
    completedAt: Timestamp | None


class Dataset(TypedDict):
    """Interface 2.1: all fields, always."""

    id: Uuid
    name: str
    question: str | None
    columns: list[Column]
    schemaVersion: PositiveInt
    status: DatasetStatus
    schedule: str | None
    rowCount: NonNegativeInt
    lastRun: RunSummary | None
    createdAt: Timestamp
    updatedAt: Timestamp


class Schema(TypedDict):
    """Interface 2.7: the columns as one schema version had them."""

    id: Uuid
    datasetId: Uuid
    version: PositiveInt
    fields: list[Column]
    createdAt: Timestamp
