"""Finds the record of a store that cannot be read, once reading has failed.

Nobody validates what is read from the store: that would cost every command. A record that cannot be
read shows as an odd error far from it, and only then the store is searched for its cause.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson

from livedata.model.errors import Damaged
from livedata.store.database.backend import Reader
from livedata.store.database.codec import load_compressed

SYMPTOMS: tuple[type[Exception], ...] = (
    # Text that is no JSON or no UTF-8, bytes that cannot be unpacked, a moment out of all years.
    *(ValueError, zlib.error, OverflowError),
    # JSON of another shape than was written.
    *(TypeError, KeyError, IndexError, AttributeError, AssertionError),
)
"""The errors that an unreadable record may cause."""

_CELLS: Mapping[str, type] = {"data": list, "reasons": dict, "overrides": dict, "evidence": dict}
_JSON: Mapping[str, Mapping[str, type | tuple[type, ...]]] = {
    "datasets": {"columns": list, "field_ids": list},
    "recipes": {"source": (dict, list)},
    "schemas": {"columns": list},
    "runs": {"checks": list, "stop": dict, "facts": dict, "problem": dict},
    "attempts": {"steps": list},
    "failed_pages": {"counts": dict},
    "observations": {"entries": dict},
    "rows": _CELLS,
    "revisions": {**_CELLS, "was": list},
}
"""Table -> its columns of JSON, compressed or not, and what stands in them."""
_PACKED: Mapping[str, Mapping[str, Callable[[bytes], object]]] = {
    "held_outputs": {"harvest": orjson.loads},
    "failed_pages": {"markup": bytes.decode},
}
"""Table -> its columns of compressed bytes, and what reads them once they are unpacked."""


def first_damage(reader: Reader) -> Damaged | None:
    """The first record that cannot be read; None if all of them can."""
    for damaged in reader.unreadable():
        return damaged
    return next(_of_another_shape(reader), None)


def _of_another_shape(reader: Reader) -> Iterator[Damaged]:
    for table, columns in _JSON.items():
        for column, kind in columns.items():
            for key, text in _values(reader, table, column):
                if not isinstance(_json(text), kind):
                    yield Damaged(table, key, column)
    for table, packed in _PACKED.items():
        for column, read in packed.items():
            for key, content in _values(reader, table, column):
                try:
                    read(zlib.decompress(content))
                except SYMPTOMS:
                    yield Damaged(table, key, column)


def _values(reader: Reader, table: str, column: str) -> Iterator[tuple[bytes, Any]]:
    key = "run_id" if table in _PACKED else "id"
    found = reader.each(
        f"SELECT {key}, {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608  (our names)
    )
    return ((row[0], row[1]) for row in found)


def _json(text: str) -> object:
    try:
        return load_compressed(text)
    except ValueError:
        return None
