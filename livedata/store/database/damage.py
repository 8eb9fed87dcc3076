"""Finds the record of a store that cannot be read, once reading has failed.

Nobody validates what is read from the store: that would cost every command. A record that cannot be
read shows as an odd error far from it, and only then the store is searched for its cause.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
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


_MOMENTS: Mapping[str, Sequence[str]] = {
    "owners": ("created_at",),
    "api_keys": ("created_at", "last_used_at", "revoked_at"),
    "ledger": ("created_at",),
    "datasets": ("next_run_at", "rows_updated_at", "created_at", "updated_at"),
    "recipes": ("created_at",),
    "schemas": ("created_at",),
    "runs": ("lease_until", "queued_at", "started_at", "completed_at"),
    "attempts": ("started_at", "ended_at"),
    "held_outputs": ("kept_until",),
    "failed_pages": ("kept_until",),
    "rows": ("observed_at", "updated_at"),
    "revisions": ("created_at",),
    "observations": ("observed_at",),
    "skipped_fires": ("fired_at",),
}
"""Table -> its columns of moments."""
_KEYS: Mapping[str, str] = {
    "owners": "name",
    "held_outputs": "run_id",
    "failed_pages": "run_id",
    "skipped_fires": "dataset_id",
}
"""Table -> the column that names its rows, if that is not ``id``."""
_END_OF_TIME = 253_402_300_800_000_000
"""The first moment that no calendar here can show: the year 10,000, in microseconds."""


def first_damage(reader: Reader) -> Damaged | None:
    """The first record that cannot be read; None if all of them can."""
    for damaged in reader.unreadable():
        return damaged
    return next(chain(_wrong_json(reader), wrong_moments(reader), wrong_bytes(reader)), None)


def _wrong_json(reader: Reader) -> Iterator[Damaged]:
    for table, columns in _JSON.items():
        for column, kind in columns.items():
            for key, text in _values(reader, table, column):
                if not isinstance(_json(text), kind):
                    yield Damaged(table, key, column)


def wrong_moments(reader: Reader) -> Iterator[Damaged]:
    """The moments before 1970 or after 9999, which nobody has lived and no date can show."""
    for table, columns in _MOMENTS.items():
        for column in columns:
            for key in reader.each(
                f"SELECT {_key(table)} FROM {table} "  # noqa: S608  (our names)
                f"WHERE {column} NOT BETWEEN 0 AND :latest",
                latest=_END_OF_TIME - 1,
            ):
                yield Damaged(table, key[0], column)


def wrong_bytes(reader: Reader) -> Iterator[Damaged]:
    """The outputs and pages that cannot be unpacked."""
    for table, packed in _PACKED.items():
        for column, read in packed.items():
            for key, content in _values(reader, table, column):
                try:
                    read(zlib.decompress(content))
                except SYMPTOMS:
                    yield Damaged(table, key, column)


def _values(reader: Reader, table: str, column: str) -> Iterator[tuple[bytes, Any]]:
    found = reader.each(
        f"SELECT {_key(table)}, {column} FROM {table} WHERE {column} IS NOT NULL"  # noqa: S608  (our names)
    )
    return ((row[0], row[1]) for row in found)


def _key(table: str) -> str:
    return _KEYS.get(table, "id")


def _json(text: str) -> object:
    try:
        return load_compressed(text)
    except ValueError:
        return None
