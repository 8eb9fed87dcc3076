"""What Runs have found: rows, their history, and the pages that they were read from.

Position i of a row's JSON list of values is ``field_ids[i]`` of its dataset, which only grows.
If all cells are of one item of one page, both name the evidence; else ``evidence`` has each cell's.
"""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

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


class ObservationRecord(SQLModel, table=True):
    """One page as one Run saw it; ``entries`` maps an item to its texts by position."""

    __tablename__ = "observations"
    __table_args__ = archived("id run_id source_url entries observed_at digest", order="id")
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets", index=True)
    run_id: bytes = loose_id()
    source_url: str = text()
    observed_at: int = moment()
    digest: bytes
    entries: str = json(codec.ENTRIES)


class RowRecord(SQLModel, table=True):
    """The current state of a row; it equals its last revision."""

    __tablename__ = "rows"
    __table_args__ = (
        UniqueConstraint("dataset_id", "row_key"),
        Index("ix_rows_dataset_id_updated_at_id", "dataset_id", "updated_at", "id"),
        archived(
            "id revision_id first_run_id last_run_id observation_id row_key data presence "
            "status source_url reasons overrides evidence observed_at updated_at item",
            order="id",
        ),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    row_key: str = text()
    data: str = json(codec.VALUES)
    reasons: str | None = json(codec.REASONS)
    overrides: str | None = json(codec.OVERRIDES)
    presence: str = text()
    status: str = text()
    revision_id: bytes = loose_id()  # no foreign key: which would come first?
    observation_id: bytes | None = loose_id()
    item: int | None
    first_run_id: bytes = loose_id()
    last_run_id: bytes = loose_id()
    source_url: str = text()
    observed_at: int = moment()
    updated_at: int = moment()
    evidence: str | None = json(codec.EVIDENCE)


class RevisionRecord(SQLModel, table=True):
    """The whole row after one change."""

    __tablename__ = "revisions"
    __table_args__ = (
        UniqueConstraint("dataset_id", "sequence"),
        Index("ix_revisions_row_id_sequence", "row_id", "sequence"),
        # An edit that a client sends again after a lost answer is written once.
        some(
            "uq_revisions_row_id_request_id",
            *("row_id", "request_id"),
            where="request_id IS NOT NULL",
        ),
        # The revisions by which a Run brought rows back: few, among very many.
        some("ix_revisions_run_id", "run_id", where="kind = 'returned'", unique=False),
        archived(
            "id row_id previous_id observation_id run_id actor_id origin kind data presence "
            "reasons overrides evidence was request_id sequence schema_version changed "
            "created_at item request_hash",
            order="sequence",
        ),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    row_id: bytes = loose_id()
    sequence: int = big()
    schema_version: int = version_of("schemas")
    previous_id: bytes | None = loose_id()
    origin: str = text()
    kind: str = text()
    changed: int = big()  # a mask: bit i for position i
    data: str = json(codec.VALUES)
    reasons: str | None = json(codec.REASONS)
    overrides: str | None = json(codec.OVERRIDES)
    presence: str = text()
    observation_id: bytes | None = loose_id()
    item: int | None
    run_id: bytes | None = loose_id()
    actor_id: bytes | None = loose_id()
    request_id: str | None = text()
    request_hash: bytes | None
    created_at: int = moment()
    was: str | None = json(codec.VALUES)  # the values before, if they say all
    evidence: str | None = json(codec.EVIDENCE)


class RevisionFieldRecord(SQLModel, table=True):
    """Which revisions changed a field: the index behind the timeline of a cell."""

    __tablename__ = "revision_fields"
    __table_args__ = ({"sqlite_with_rowid": False},)  # else SQLite keeps every line twice
    dataset_id: bytes = loose_id(primary_key=True)
    position: int = Field(primary_key=True)
    sequence: int = big(primary_key=True)
