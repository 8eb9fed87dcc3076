"""What is collected, and how: datasets with their recipes and columns, and looks at pages."""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import SQLModel

from livedata.store import looks
from livedata.store.database import codec
from livedata.store.tables.columns import (
    archived,
    big,
    id_of,
    json,
    loose_id,
    moment,
    own_id,
    some,
    text,
    version_of,
)


class DatasetRecord(SQLModel, table=True):
    """A dataset; ``head`` is the last sequence of its feed, taken under this row's lock."""

    __tablename__ = "datasets"
    __table_args__ = (
        UniqueConstraint("owner", "name"),
        # Many fire at one moment: with the id none of them is sorted again for each batch.
        Index("ix_datasets_next_run_at", "next_run_at", "id"),
        # What was planned wrong, schedule by schedule.
        some(
            "ix_datasets_schedule",
            *("schedule", "next_run_zone", "next_run_at"),
            where="status = 'active' AND schedule IS NOT NULL",
            unique=False,
        ),
        # What runs without a fire, or not at all yet: few, or to be counted.
        some(
            "ix_datasets_unfired",
            *("owner", "schedule"),
            where="status <> 'paused' AND (status = 'draft' OR schedule IS NULL)",
            unique=False,
        ),
        some(
            "ix_datasets_heard_at",
            *("owner", "heard_at"),
            where="status <> 'paused'",
            unique=False,
        ),
        Index("ix_datasets_created_at", "owner", "created_at", "id"),
        Index("ix_datasets_rows_updated_at", "owner", "rows_updated_at"),
        archived(
            "id name columns field_ids question schedule schema_version recipe_version "
            "row_count head rows_updated_at created_at updated_at label_column "
            "dropped_columns",
            order="id",
            where="id = :dataset",
            later="label_column dropped_columns",
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
    next_run_at: int | None = moment()
    row_count: int  # kept by Runs: a list of datasets must not count rows
    head: int = big()
    rows_updated_at: int = moment()
    created_at: int = moment()
    updated_at: int = moment()
    next_run_zone: str | None = text()
    imported_head: int | None = big()  # its head in the archive
    label_column: str | None = text()  # the field that its owner has chosen to name rows by
    heard_at: int | None = moment()  # then or later a Run was accepted: noted when it is looked at
    dropped_columns: str | None = json(codec.DROPPED)  # their values keep their positions
    takes_over: bytes | None = loose_id()  # whose hand edits its first accepted Run takes over


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


class LookRecord(SQLModel, table=True):
    """A look at a page: who asked for it, its lease and fence, and what was seen there.

    It is about its page (`seen`), or with `chosen` about a declaration (`tried`); with a dataset
    about the next source of that. All of it goes once a dataset is made of it, or after a day.
    """

    __tablename__ = "looks"
    __table_args__ = (
        # One at a time for each owner, whoever asks: an index cannot be raced.
        some("uq_looks_open", "owner", where="status IN ('queued', 'running')"),
    )
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name")
    status: str = text()  # queued, running, over
    wish: str = json(looks.LOOK_WISH)
    seen: str | None = json(looks.PAGE_LOOK)
    chosen: str | None = json(codec.ANY_OBJECT)
    tried: str | None = json(codec.ANY_OBJECT)
    error: str | None = text()  # why it came to no end, for a person
    far: str | None = text()  # how far it is, for a person
    attempt: int
    fence: int
    lease_owner: str | None = text()
    lease_until: int | None = moment()
    lease_origin: int | None = big()
    asked_at: int = moment()
    started_at: int | None = moment()
    dataset_id: bytes | None = loose_id()  # what it is about, or has become
