"""Columns of text and what they hold: JSON of a shape, lists by position, fields of a dataset."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import orjson

from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_run import PageCounts, RunFacts, StepFact, StopFact
from livedata.model.harvest import PageRead
from livedata.model.problem import Problem
from livedata.model.row import MissingReason, Scalar
from livedata.model.run import CheckResult
from livedata.rules.changes.compare import SourceValue
from livedata.store.database.shapes import Fits, fits

T = TypeVar("T")

_COMPRESSED = "z:"
"""How compressed text begins; no JSON does, so both kinds can stand in one column."""


class Misshapen(ValueError):
    """JSON of another shape than any version wrote."""


@dataclass(frozen=True)
class JsonColumn(Generic[T]):
    """What a column of JSON holds: the only way from stored text to a value of that type."""

    shape: Any

    def load(self, text: str) -> T:
        """The value of a text as stored. Raises ValueError for what no version wrote."""
        value: T = load_compressed(text)
        if not self.fits(value):
            raise Misshapen
        return value

    @cached_property
    def fits(self) -> Fits:
        """Whether a value has the shape."""
        return fits(self.shape)


COLUMNS = JsonColumn[list[Column]](list[Column])
FIELD_IDS = JsonColumn[list[str]](list[str])
SOURCE = JsonColumn[Any](dict[str, Any] | list[Any])
CHECKS = JsonColumn[list[CheckResult]](list[CheckResult])
STOP = JsonColumn[dict[str, Any]](StopFact)
FACTS = JsonColumn[RunFacts](RunFacts)
PROBLEM = JsonColumn[dict[str, Any]](Problem)
STEPS = JsonColumn[list[StepFact]](list[StepFact])
COUNTS = JsonColumn[PageCounts](PageCounts)
VALUES = JsonColumn[list[Scalar]](list[Scalar])
REASONS = JsonColumn[dict[str, MissingReason]](dict[int, MissingReason])
OVERRIDES = JsonColumn[dict[str, SourceValue]](dict[int, SourceValue])
EVIDENCE = JsonColumn[dict[str, list[tuple[str, int]]]](dict[int, list[tuple[str, int]]])
ENTRIES = JsonColumn[dict[str, dict[str, Any]]](dict[int, dict[int, str | tuple[str]]])


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of a dataset by position, as lists: their ids, names, and who writes them."""

    ids: list[str]
    columns: dict[str, Column]
    names: list[str]
    collected: list[bool]
    """Whether the field is read from the source."""

    @property
    def positions(self) -> dict[str, int]:
        """Field id -> position."""
        return {field: position for position, field in enumerate(self.ids)}

    def entry(self, item: int, position: int) -> str:
        """The name of the entry for one cell: the item's number on its page, and the column."""
        return f"{item}/{self.names[position]}"


def fields_of(field_ids: str, columns: str) -> Fields:
    """The fields of a dataset from its two stored columns."""
    ids = FIELD_IDS.load(field_ids)
    # Two lists, because people may reorder columns, while stored values keep their positions.
    by_id = {column["id"]: column for column in COLUMNS.load(columns)}
    placed = [by_id[field] for field in ids]
    return Fields(
        ids,
        by_id,
        [column["name"] for column in placed],
        [column["ownership"] == "collected" for column in placed],
    )


def dump(value: object) -> str:
    """JSON text as the store keeps it."""
    return orjson.dumps(value).decode()


def dump_positions(value: Mapping[int, object]) -> str | None:
    """JSON of something by position; None if it is empty."""
    # NULL and not "{}": most rows have nothing here, and those that have are found by IS NOT NULL.
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() if value else None


def load_positions(column: JsonColumn[dict[str, T]], text: str | None) -> dict[int, T]:
    """The opposite of :func:`dump_positions`. Raises ValueError as the column does."""
    if not text:
        return {}
    by_position: dict[str, T] = orjson.loads(text)
    if not column.fits(by_position):
        raise Misshapen
    return {int(position): value for position, value in by_position.items()}


def load_values(text: str) -> list[Scalar]:
    """The values of a row. Raises ValueError for what no version wrote."""
    # A list of plain values has one bracket, its first character, and no brace; a text of a site
    # may have more. To look at each value would take a tenth of the time to read a row.
    if text.rfind("[") != 0 or "{" in text:
        return VALUES.load(text)
    values: list[Scalar] = orjson.loads(text)
    return values


def load_harvest(packed: bytes) -> list[dict[str, Any]]:
    """The pages of an output that is held. Raises ValueError, zlib.error for what none can be."""
    pages: list[dict[str, Any]] = orjson.loads(zlib.decompress(packed))
    if not fits(list[PageRead])(pages):
        raise Misshapen
    return pages


def dump_compressed(value: object) -> str:
    """JSON as text that is small."""
    # What a Run records repeats itself and is kept for every Run: 1,000 bytes for 50 pages. Base 85
    # adds a quarter to the bytes, base 64 a third; the column is text, for it once had plain JSON.
    return _COMPRESSED + b85encode(zlib.compress(orjson.dumps(value), 9)).decode()


def load_compressed(text: str) -> Any:
    """The opposite of :func:`dump_compressed`; plain JSON is read too."""
    if not text.startswith(_COMPRESSED):
        return orjson.loads(text)
    try:
        return orjson.loads(zlib.decompress(b85decode(text.removeprefix(_COMPRESSED))))
    except zlib.error as error:
        # The same error as for bad JSON and bad base 85: who judges the store expects one.
        raise ValueError(str(error)) from error
