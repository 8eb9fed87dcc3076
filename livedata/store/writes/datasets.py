"""Datasets with their Bot, recipes and schemas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, insert, select, update

from livedata.model.dataset import Column
from livedata.model.ids import new_id
from livedata.store.codec import dump
from livedata.store.engine import Writer
from livedata.store.tables import (
    AttemptRecord,
    BotRecord,
    CursorRecord,
    DatasetRecord,
    FailedPageRecord,
    HeldRecord,
    ObservationRecord,
    RecipeRecord,
    RevisionFieldRecord,
    RevisionRecord,
    RowRecord,
    RunRecord,
    SchemaRecord,
    table,
)

_datasets = table(DatasetRecord)
_bots = table(BotRecord)
_recipes = table(RecipeRecord)
_schemas = table(SchemaRecord)
_runs = table(RunRecord)
_attempts = table(AttemptRecord)
_held_outputs = table(HeldRecord)
_failed_pages = table(FailedPageRecord)
_rows = table(RowRecord)
_revisions = table(RevisionRecord)
_revision_fields = table(RevisionFieldRecord)
_observations = table(ObservationRecord)
_cursors = table(CursorRecord)


def add(
    writer: Writer,
    owner: str,
    name: str,
    question: str | None,
    columns: Sequence[Column],
    source: object,
    at: int,
) -> bytes:
    """A draft with its Bot, recipe version 1 and schema version 1; its id."""
    dataset = new_id()
    writer.execute(
        insert(_datasets).values(
            id=dataset,
            owner=owner,
            name=name,
            question=question,
            columns=dump(columns),
            field_ids=dump([column["id"] for column in columns]),
            schema_version=1,
            recipe_version=0,
            status="draft",
            row_count=0,
            head=0,
            rows_updated_at=0,
            created_at=at,
            updated_at=at,
        )
    )
    writer.execute(insert(_bots).values(id=new_id(), dataset_id=dataset, created_at=at))
    add_recipe(writer, dataset, source, at)
    add_schema(writer, dataset, 1, columns, at)
    return dataset


def add_recipe(writer: Writer, dataset: bytes, source: object, at: int) -> int:
    """Pin the next recipe version; its number."""
    version = writer.execute(
        update(_datasets)
        .where(_datasets.c.id == dataset)
        .values(recipe_version=_datasets.c.recipe_version + 1, updated_at=at)
        .returning(_datasets.c.recipe_version)
    ).scalar_one()
    writer.execute(
        insert(_recipes).values(
            id=new_id(), dataset_id=dataset, version=version, source=dump(source), created_at=at
        )
    )
    return int(version)


def add_schema(
    writer: Writer, dataset: bytes, version: int, columns: Sequence[Column], at: int
) -> None:
    """Keep the columns of one schema version."""
    writer.execute(
        insert(_schemas).values(
            id=new_id(), dataset_id=dataset, version=version, columns=dump(columns), created_at=at
        )
    )


def change(writer: Writer, dataset: bytes, **values: Any) -> None:
    """Set columns of a dataset."""
    writer.execute(update(_datasets).where(_datasets.c.id == dataset).values(**values))


def lock(writer: Writer, dataset: bytes) -> tuple[str, int, int]:
    """Keep every other writer of this dataset out; its (owner, schema version, latest update)."""
    row = writer.execute(
        update(_datasets)
        .where(_datasets.c.id == dataset)
        .values(head=_datasets.c.head)
        .returning(
            _datasets.c.owner,
            _datasets.c.schema_version,
            _datasets.c.rows_updated_at,
        )
    ).one()
    return row[0], row[1], row[2]


def remove(writer: Writer, dataset: bytes) -> None:
    """Everything of a dataset; the ledger stays."""
    runs = select(_runs.c.id).where(_runs.c.dataset_id == dataset)
    for of_runs in (_attempts, _held_outputs, _failed_pages):
        writer.execute(delete(of_runs).where(of_runs.c.run_id.in_(runs)))
    for of_dataset in (
        _cursors,
        _revision_fields,
        _revisions,
        _rows,
        _observations,
        _runs,
        _schemas,
        _recipes,
        _bots,
    ):
        writer.execute(delete(of_dataset).where(of_dataset.c.dataset_id == dataset))
    writer.execute(delete(_datasets).where(_datasets.c.id == dataset))


def keep_cursor(writer: Writer, dataset: bytes, name: str, position: int, at: int) -> None:
    """Remember where a named reader of the feed stopped."""
    where = (_cursors.c.dataset_id == dataset, _cursors.c.name == name)
    moved = writer.execute(
        update(_cursors).where(*where).values(position=position, updated_at=at)
    ).rowcount
    if not moved:
        writer.execute(
            insert(_cursors).values(dataset_id=dataset, name=name, position=position, updated_at=at)
        )
