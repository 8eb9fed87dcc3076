"""Datasets, their sources and columns, asked for with their owner."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from livedata.model.dataset import Dataset
from livedata.model.ids import format_timestamp, format_uuid, raw_id
from livedata.store.codec import Fields, fields_of
from livedata.store.database import Reader, Row

_DATASET = """
SELECT d.id, d.name, d.question, d.columns, d.schema_version, d.status, d.schedule, d.row_count,
       d.created_at, d.updated_at, r.id, r.status, r.completed_at
FROM datasets d
LEFT JOIN runs r ON r.id = (
    SELECT id FROM runs WHERE dataset_id = d.id ORDER BY queued_at DESC, id DESC LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Handle:
    """What every question about the inside of a dataset needs to know of it."""

    id: bytes
    name: str
    head: int
    fields: Fields


def get(reader: Reader, owner: str, dataset: bytes) -> Dataset | None:
    """Specification 2.1."""
    row = reader.row(_DATASET + "WHERE d.owner = :owner AND d.id = :id", owner=owner, id=dataset)
    return None if row is None else _dataset(row)


def newest(
    reader: Reader, owner: str, limit: int, before: tuple[int, str] | None = None
) -> list[Dataset]:
    """Newest first; `before` is the (createdAt, id) of the last one already seen."""
    condition = "AND (d.created_at, d.id) < (:at, :last)" if before else ""
    at, last = before or (0, "")
    rows = reader.rows(
        f"{_DATASET} WHERE d.owner = :owner {condition} "
        "ORDER BY d.created_at DESC, d.id DESC LIMIT :limit",
        owner=owner,
        limit=limit,
        at=at,
        last=raw_id(last) if last else b"",
    )
    return [_dataset(row) for row in rows]


def handle(reader: Reader, owner: str, dataset: bytes) -> Handle | None:
    """The handle of one dataset."""
    row = reader.row(
        "SELECT id, name, head, field_ids, columns FROM datasets WHERE owner = :owner AND id = :id",
        owner=owner,
        id=dataset,
    )
    return None if row is None else Handle(row[0], row[1], row[2], fields_of(row[3], row[4]))


def field_ids(reader: Reader, dataset: bytes) -> list[str]:
    """The ids of a dataset's fields by stored position."""
    found: list[str] = orjson.loads(
        reader.value("SELECT field_ids FROM datasets WHERE id = :id", id=dataset)
    )
    return found


def named(reader: Reader, owner: str, name: str) -> bytes | None:
    """The id of the dataset of exactly that name."""
    found: bytes | None = reader.value(
        "SELECT id FROM datasets WHERE owner = :owner AND name = :name", owner=owner, name=name
    )
    return found


def all_names(reader: Reader, owner: str) -> list[tuple[bytes, str]]:
    """(id, name) of everything the owner has, by name."""
    rows = reader.rows(
        "SELECT id, name FROM datasets WHERE owner = :owner ORDER BY name", owner=owner
    )
    return [(row[0], row[1]) for row in rows]


def source(reader: Reader, dataset: bytes, version: int | None = None) -> tuple[int, object]:
    """The (version, JSON) of a recipe of a dataset; the newest unless `version` names one."""
    row = reader.row(
        "SELECT version, source FROM recipes WHERE dataset_id = :dataset "
        "AND version = coalesce(:version, "
        "(SELECT recipe_version FROM datasets WHERE id = :dataset))",
        dataset=dataset,
        version=version,
    )
    assert row is not None
    return row[0], orjson.loads(row[1])


def standing(reader: Reader, dataset: bytes) -> tuple[int, list[str]]:
    """The head of a dataset's feed, and the keys of the rows that are present at it."""
    head: int = reader.value("SELECT head FROM datasets WHERE id = :id", id=dataset)
    rows = reader.rows(
        "SELECT row_key FROM rows WHERE dataset_id = :id AND presence = 'present'", id=dataset
    )
    return head, [row[0] for row in rows]


def _dataset(row: Row) -> Dataset:
    last = None
    if row[10] is not None:
        completed = None if row[12] is None else format_timestamp(row[12])
        last = {"id": format_uuid(row[10]), "status": row[11], "completedAt": completed}
    answer: Dataset = {
        "id": format_uuid(row[0]),
        "name": row[1],
        "question": row[2],
        "columns": orjson.loads(row[3]),
        "schemaVersion": row[4],
        "status": row[5],
        "schedule": row[6],
        "rowCount": row[7],
        "lastRun": last,  # type: ignore[typeddict-item]  # its status comes from the store
        "createdAt": format_timestamp(row[8]),
        "updatedAt": format_timestamp(row[9]),
    }
    return answer
