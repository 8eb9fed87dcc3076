"""What is collected, and how: datasets with the versions of their recipes and columns."""

from __future__ import annotations

from sqlalchemy import UniqueConstraint
from sqlmodel import SQLModel

from livedata.store.database import codec
from livedata.store.tables.columns import (
    archived,
    big,
    id_of,
    json,
    moment,
    own_id,
    text,
    version_of,
)


class DatasetRecord(SQLModel, table=True):
    """A dataset; ``head`` is the last sequence of its feed, taken under this row's lock."""

    __tablename__ = "datasets"
    __table_args__ = (
        UniqueConstraint("owner", "name"),
        archived(
            "id name columns field_ids question schedule schema_version recipe_version "
            "row_count head rows_updated_at created_at updated_at label_column",
            order="id",
            where="id = :dataset",
            later="label_column",
        ),
    )
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name")
    name: str = text()
    question: str | None = text()
    columns: str = json(codec.COLUMNS)
    field_ids: str = json(codec.FIELD_IDS)  # in stored order; columns may be reordered
    schema_version: int = version_of("schemas")
    recipe_version: int = version_of("recipes")
    status: str = text()
    schedule: str | None = text()
    next_run_at: int | None = moment(index=True)
    row_count: int  # kept by Runs: a list of datasets must not count rows
    head: int = big()
    rows_updated_at: int = moment()
    created_at: int = moment()
    updated_at: int = moment()
    next_run_zone: str | None = text()
    imported_head: int | None = big()  # its head in the archive
    label_column: str | None = text()  # the field that its owner has chosen to name rows by


class BotRecord(SQLModel, table=True):
    """The single Bot of a dataset: who collects its rows."""

    __tablename__ = "bots"
    __table_args__ = archived("id created_at", order="id")
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets", unique=True)
    created_at: int = moment()


class RecipeRecord(SQLModel, table=True):
    """A pinned source; versions start at 1 and are never changed."""

    __tablename__ = "recipes"
    __table_args__ = (
        UniqueConstraint("dataset_id", "version"),
        archived("id version created_at source", order="version"),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    version: int
    source: str = json(codec.SOURCE)
    created_at: int = moment()


class SchemaRecord(SQLModel, table=True):
    """The columns as one schema version has them."""

    __tablename__ = "schemas"
    __table_args__ = (
        UniqueConstraint("dataset_id", "version"),
        archived("id version created_at columns", order="version"),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    version: int
    columns: str = json(codec.COLUMNS)
    created_at: int = moment()
