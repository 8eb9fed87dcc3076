"""A dataset as it is answered: interface 2.1 and 2.2.

Answers are typed dictionaries in the form that is sent: the store builds them, tests hold them to
the interface, and printing one costs no more than writing JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, NotRequired, TypedDict

from livedata.model.wire import NonNegativeInt, PositiveInt, Timestamp, Uuid

DatasetStatus = Literal["draft", "active", "paused"]
RunStatus = Literal["queued", "running", "succeeded", "failed", "blocked", "held"]
ColumnType = Literal["string", "number", "date", "url", "boolean"]
CollectedType = Literal["string", "number", "boolean"]
"""The types of columns that Runs collect."""


class CellType(NamedTuple):
    """What a type of column holds: the types of its values, and what one is called in a sentence.

    `compares` says what conditions may ask of them, and `example` asks it. `sql` is their type in a
    SQLite file, `package` in a data package. `words` is what pages call a value: None where they
    show a text or a number as such.
    """

    values: tuple[type, ...]
    called: str
    compares: Literal["as text", "by order", "for being equal"]
    example: str
    sql: str
    package: Mapping[str, str]
    words: Callable[[Any], str] | None = None


CELL_TYPES: Final[Mapping[ColumnType, CellType]] = {
    "string": CellType((str,), "a text", "as text", "contains tea", "TEXT", {"type": "string"}),
    "number": CellType(
        *((int, float), "a number", "by order", "< 20", "NUMERIC", {"type": "number"})
    ),
    "boolean": CellType(
        *((bool,), "true or false", "for being equal", "= true", "INTEGER", {"type": "boolean"}),
        words=lambda value: "yes" if value else "no",
    ),
    # A date of livedata may have a time.
    "date": CellType(
        *((str,), "a date", "by order", "< 2026-03-01", "TEXT"),
        {"type": "datetime", "format": "any"},
    ),
    "url": CellType(
        *((str,), "an address", "as text", "contains /tea", "TEXT"),
        {"type": "string", "format": "uri"},
    ),
}
"""All that is to be known of each type but how its values are read and judged."""
NUMERIC: Final = frozenset(name for name, kind in CELL_TYPES.items() if int in kind.values)
"""The types whose values are numbers: they are drawn, compared and narrowed as such."""
WORDED: Final[Mapping[ColumnType, Callable[[Any], str]]] = {
    name: kind.words for name, kind in CELL_TYPES.items() if kind.words is not None
}
"""What pages call a value of a type, where they do not show it as such."""
TYPES_OF: Final[Mapping[str, tuple[type, ...]]] = {
    name: kind.values for name, kind in CELL_TYPES.items()
}
"""The type of a column -> the types of its values."""


def words(value: object, kind: ColumnType | None = None) -> str:
    """What pages call a value of a type: a number has a point only if it needs one."""
    if kind is not None and kind in WORDED:
        return WORDED[kind](value)
    return value if isinstance(value, str) else str(value).removesuffix(".0")


class Column(TypedDict):
    """Interface 2.2 as sent: ``description`` only where there is one."""

    id: Uuid
    label: str
    ownership: Literal["collected", "user"]
    name: str
    type: ColumnType
    key: bool
    description: NotRequired[str]


class DroppedColumn(Column):
    """A column that is read no more; ``lastRecipe`` is the last version that reads it."""

    lastRecipe: PositiveInt


def columns_by_id(columns: Iterable[Column]) -> dict[str, Column]:
    """The columns by their ids."""
    return {column["id"]: column for column in columns}


def columns_by_name(columns: Iterable[Column]) -> dict[str, Column]:
    """The columns by their names."""
    return {column["name"]: column for column in columns}


def is_numeric(column: Column) -> bool:
    """Whether the cells of a column are numbers."""
    return column["type"] in NUMERIC


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
