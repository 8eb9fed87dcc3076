"""Columns of text and what they hold: JSON, lists by position, and the fields of a dataset."""

from __future__ import annotations

import zlib
from base64 import b85decode, b85encode
from collections.abc import Mapping
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import asdict

from livedata.model.dataset import Column

_COMPRESSED = "z:"
"""How compressed text begins; no JSON does, so both kinds can stand in one column."""


class Fields(Struct, frozen=True):
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
    ids: list[str] = orjson.loads(field_ids)
    # Two lists, because people may reorder columns, while stored values keep their positions.
    by_id: dict[str, Column] = {column["id"]: column for column in orjson.loads(columns)}
    placed = [by_id[field] for field in ids]
    return Fields(
        ids,
        by_id,
        [column["name"] for column in placed],
        [column["ownership"] == "collected" for column in placed],
    )


def dump(value: object) -> str:
    """JSON text as the store keeps it."""
    return orjson.dumps(value, default=asdict).decode()


def dump_positions(value: Mapping[int, object]) -> str | None:
    """JSON of something by position; None if it is empty."""
    # NULL and not "{}": most rows have nothing here, and those that have are found by IS NOT NULL.
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode() if value else None


def load_positions(text: str | None) -> dict[int, Any]:
    """The opposite of :func:`dump_positions`."""
    if not text:
        return {}
    return {int(position): value for position, value in orjson.loads(text).items()}


def dump_compressed(value: object) -> str:
    """JSON as text that is small."""
    # What a Run records repeats itself and is kept for every Run: 1,000 bytes for 50 pages. Base 85
    # adds a quarter to the bytes, base 64 a third; the column is text, for it once had plain JSON.
    return _COMPRESSED + b85encode(zlib.compress(orjson.dumps(value, default=asdict), 9)).decode()


def load_compressed(text: str) -> Any:
    """The opposite of :func:`dump_compressed`; plain JSON is read too."""
    if not text.startswith(_COMPRESSED):
        return orjson.loads(text)
    try:
        return orjson.loads(zlib.decompress(b85decode(text.removeprefix(_COMPRESSED))))
    except zlib.error as error:
        # The same error as for bad JSON and bad base 85: who judges the store expects one.
        raise ValueError(str(error)) from error
