"""What pages write beside rows: their keys, cells that changed with what stood there, edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from livedata.model.ids import DatasetId, format_uuid, raw_id
from livedata.model.row import Scalar
from livedata.store.database.backend import Reader
from livedata.store.database.codec import OVERRIDES, VALUES, Fields, load_positions
from livedata.store.database.statements import listed

_MARKS = """
SELECT w.id, w.status, w.overrides, v.changed, v.was, p.data
FROM rows w JOIN revisions v ON v.id = w.revision_id LEFT JOIN revisions p ON p.id = v.previous_id
WHERE w.dataset_id = :dataset AND (w.status = 'changed' OR w.overrides IS NOT NULL)
"""


class Marks(Struct, frozen=True):
    """Of a row: field id -> what stood there before its last change, and the edited fields."""

    was: Mapping[str, Scalar]
    edited: frozenset[str]


def marks(
    reader: Reader, dataset: DatasetId, fields: Fields, rows: Iterable[str]
) -> dict[str, Marks]:
    """Row id -> its marks; a row without any is left out."""
    names, named = listed("row", map(raw_id, rows))
    if not named:
        return {}
    found = reader.rows(f"{_MARKS} AND w.id IN ({names})", dataset=dataset, **named)
    return {format_uuid(row[0]): _marks(fields, *row[1:]) for row in found}


def keys(reader: Reader, dataset: DatasetId, rows: Iterable[str]) -> dict[str, str]:
    """Row id -> its key."""
    names, named = listed("row", map(raw_id, rows))
    if not named:
        return {}
    found = reader.rows(
        f"SELECT id, row_key FROM rows WHERE dataset_id = :dataset AND id IN ({names})",  # noqa: S608  (our names)
        dataset=dataset,
        **named,
    )
    return {format_uuid(row): key for row, key in found}


def _marks(fields: Fields, status: str, overrides: str | None, *change: Any) -> Marks:
    edited = frozenset(fields.ids[at] for at in load_positions(OVERRIDES, overrides))
    return Marks(_was(fields, *change) if status == "changed" else {}, edited)


def _was(fields: Fields, changed: int, was: str | None, before: str | None) -> dict[str, Scalar]:
    """What stood in the changed cells: kept with the change, else of the revision before it."""
    positions = [at for at in range(len(fields.ids)) if changed >> at & 1]
    if was is not None:
        return {
            fields.ids[at]: value for at, value in zip(positions, VALUES.load(was), strict=True)
        }
    values = VALUES.load(before) if before is not None else []
    return {fields.ids[at]: values[at] for at in positions if at < len(values)}
