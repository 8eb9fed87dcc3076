"""The tables. Ids are 16 bytes, moments microseconds, JSON is text: alike on both databases.

Position i of a row's JSON list of values is ``field_ids[i]`` of its dataset, which only grows.
If all cells are of one item of one page, both name the evidence; else ``evidence`` has each cell's.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, MetaData, UniqueConstraint
from sqlmodel import Field, SQLModel

from livedata.store.database import notice_tables, research_tables, session_tables  # noqa: F401
from livedata.store.database import turn_tables as _turn_tables  # noqa: F401
from livedata.store.migrations.columns import (
    TEXT,
    facts_by_age,
    once_a_request,
    returned_rows,
    waiting_runs,
)
from livedata.store.migrations.columns import key as _key
from livedata.store.migrations.columns import some as _some

metadata: MetaData = SQLModel.metadata


class OwnerRecord(SQLModel, table=True):
    """An owner is a name with a balance: a row of its own, never a sum."""

    __tablename__ = "owners"
    name: str = Field(sa_type=TEXT, primary_key=True)
    balance: int = Field(sa_type=BigInteger)  # a plain int has 32 bits on PostgreSQL
    created_at: int = Field(sa_type=BigInteger)


class KeyRecord(SQLModel, table=True):
    """An API key, kept as its SHA-256 only."""

    __tablename__ = "api_keys"
    id: bytes = _key()
    owner: str = Field(sa_type=TEXT, foreign_key="owners.name", index=True)
    label: str | None = Field(default=None, sa_type=TEXT)
    hash: bytes = Field(sa_type=LargeBinary, unique=True)
    created_at: int = Field(sa_type=BigInteger)
    last_used_at: int | None = Field(default=None, sa_type=BigInteger)
    revoked_at: int | None = Field(default=None, sa_type=BigInteger)


class LedgerRecord(SQLModel, table=True):
    """An entry of the ledger, which only grows."""

    __tablename__ = "ledger"
    __table_args__ = (Index("ix_ledger_owner_created_at", "owner", "created_at"),)
    id: bytes = _key()
    owner: str = Field(sa_type=TEXT, foreign_key="owners.name")
    kind: str = Field(sa_type=TEXT)
    credits: int = Field(sa_type=BigInteger)
    balance_after: int = Field(sa_type=BigInteger)
    # No foreign keys, since an entry outlives dataset and Run. Unique, so that no Run is charged
    # twice: grants have NULL, and a unique index takes any number of NULLs, on both databases.
    dataset_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    run_id: bytes | None = Field(default=None, sa_type=LargeBinary, unique=True)
    note: str | None = Field(default=None, sa_type=TEXT)
    created_at: int = Field(sa_type=BigInteger)


class DatasetRecord(SQLModel, table=True):
    """A dataset; ``head`` is the last sequence of its feed, taken under this row's lock."""

    __tablename__ = "datasets"
    __table_args__ = (UniqueConstraint("owner", "name"),)
    id: bytes = _key()
    owner: str = Field(sa_type=TEXT, foreign_key="owners.name")
    name: str = Field(sa_type=TEXT)
    question: str | None = Field(default=None, sa_type=TEXT)
    columns: str = Field(sa_type=TEXT)
    field_ids: str = Field(sa_type=TEXT)  # in stored order; columns may be reordered
    schema_version: int
    recipe_version: int
    status: str = Field(sa_type=TEXT)
    schedule: str | None = Field(default=None, sa_type=TEXT)
    next_run_at: int | None = Field(default=None, sa_type=BigInteger, index=True)
    row_count: int = 0  # kept by Runs: a list of datasets must not count rows
    head: int = Field(default=0, sa_type=BigInteger)
    rows_updated_at: int = Field(default=0, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    next_run_zone: str | None = Field(default=None, sa_type=TEXT)
    imported_head: int | None = Field(default=None, sa_type=BigInteger)  # its head in the archive


class BotRecord(SQLModel, table=True):
    """The single Bot of a dataset: who collects its rows."""

    __tablename__ = "bots"
    id: bytes = _key()
    dataset_id: bytes = Field(sa_type=LargeBinary, foreign_key="datasets.id", unique=True)
    created_at: int = Field(sa_type=BigInteger)


class RecipeRecord(SQLModel, table=True):
    """A pinned source; versions start at 1 and are never changed."""

    __tablename__ = "recipes"
    __table_args__ = (UniqueConstraint("dataset_id", "version"),)
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    version: int
    source: str = Field(sa_type=TEXT)
    created_at: int = Field(sa_type=BigInteger)


class SchemaRecord(SQLModel, table=True):
    """The columns as one schema version has them."""

    __tablename__ = "schemas"
    __table_args__ = (UniqueConstraint("dataset_id", "version"),)
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    version: int
    columns: str = Field(sa_type=TEXT)
    created_at: int = Field(sa_type=BigInteger)


class RunRecord(SQLModel, table=True):
    """A Run: its status, its lease, its fence, and what came of it."""

    __tablename__ = "runs"
    __table_args__ = (
        # One open Run of a dataset, whoever queues it: an index cannot be raced.
        _some("uq_runs_open", "dataset_id", where="status IN ('queued', 'running')"),
        # One running Run that asks a site; one that waits has NULL, which equals nothing.
        _some("uq_runs_turn", "turn", where="status = 'running'"),
        facts_by_age(),
        Index("ix_runs_dataset_id_queued_at", "dataset_id", "queued_at", "id"),
        Index("ix_runs_status_queued_at", "status", "queued_at"),
        waiting_runs(),
    )
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    recipe_version: int
    site: str = Field(sa_type=TEXT)
    status: str = Field(sa_type=TEXT)
    attempt: int = 0
    fence: int = 0  # grows with every start, while an attempt that is given back does not count
    alone: bool = False
    lease_owner: str | None = Field(default=None, sa_type=TEXT)
    lease_until: int | None = Field(default=None, sa_type=BigInteger)
    checks: str = Field(default="[]", sa_type=TEXT)
    new_rows: int = 0
    changed_rows: int = 0
    gone_rows: int = 0
    error: str | None = Field(default=None, sa_type=TEXT)
    stop: str | None = Field(default=None, sa_type=TEXT)
    facts: str | None = Field(default=None, sa_type=TEXT)
    queued_at: int = Field(sa_type=BigInteger)
    started_at: int | None = Field(default=None, sa_type=BigInteger)
    completed_at: int | None = Field(default=None, sa_type=BigInteger)
    turn: str | None = Field(default=None, sa_type=TEXT)  # the site that it asks while it runs
    problem: str | None = Field(default=None, sa_type=TEXT)
    lease_origin: int | None = Field(default=None, sa_type=BigInteger)
    idempotency_hash: bytes | None = Field(default=None, sa_type=LargeBinary)
    imported_at: int | None = Field(default=None, sa_type=BigInteger)  # executed in another store
    fresh: bool | None = None  # if true, research takes no answer from before


class AttemptRecord(SQLModel, table=True):
    """One attempt at a Run, with its steps (a JSON list, None once it is pruned)."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        _some("ix_attempts_started_at", "started_at", where="steps IS NOT NULL", unique=False),
    )
    id: bytes = _key()
    run_id: bytes = _key("runs.id")
    number: int
    started_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    steps: str | None = Field(default=None, sa_type=TEXT)
    pages_read: int | None = None  # so far, while it is in progress
    items_read: int | None = None


class HeldRecord(SQLModel, table=True):
    """The output of a Run that waits for a person: a compressed harvest."""

    __tablename__ = "held_outputs"
    run_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="runs.id")
    harvest: bytes = Field(sa_type=LargeBinary)
    kept_until: int = Field(sa_type=BigInteger, index=True)


class FailedPageRecord(SQLModel, table=True):
    """The page that stopped a Run which was not accepted: ``markup`` is compressed UTF-8."""

    __tablename__ = "failed_pages"
    run_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="runs.id")
    number: int
    url: str = Field(sa_type=TEXT)
    final_url: str = Field(sa_type=TEXT)
    status: int
    title: str | None = Field(default=None, sa_type=TEXT)
    markup: bytes = Field(sa_type=LargeBinary)
    cut: bool
    counts: str | None = Field(default=None, sa_type=TEXT)
    screenshot: bytes | None = Field(default=None, sa_type=LargeBinary)
    kept_until: int = Field(sa_type=BigInteger, index=True)


class RowRecord(SQLModel, table=True):
    """The current state of a row; it equals its last revision."""

    __tablename__ = "rows"
    __table_args__ = (
        UniqueConstraint("dataset_id", "row_key"),
        Index("ix_rows_dataset_id_updated_at_id", "dataset_id", "updated_at", "id"),
    )
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    row_key: str = Field(sa_type=TEXT)
    data: str = Field(sa_type=TEXT)
    reasons: str | None = Field(default=None, sa_type=TEXT)
    overrides: str | None = Field(default=None, sa_type=TEXT)
    presence: str = Field(sa_type=TEXT)
    status: str = Field(sa_type=TEXT)
    revision_id: bytes = Field(sa_type=LargeBinary)  # no foreign key: which would come first?
    observation_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    item: int | None = None
    first_run_id: bytes = Field(sa_type=LargeBinary)
    last_run_id: bytes = Field(sa_type=LargeBinary)
    source_url: str = Field(sa_type=TEXT)
    observed_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    evidence: str | None = Field(default=None, sa_type=TEXT)


class RevisionRecord(SQLModel, table=True):
    """The whole row after one change."""

    __tablename__ = "revisions"
    __table_args__ = (
        UniqueConstraint("dataset_id", "sequence"),
        Index("ix_revisions_row_id_sequence", "row_id", "sequence"),
        once_a_request(),
        returned_rows(),
    )
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    row_id: bytes = Field(sa_type=LargeBinary)
    sequence: int = Field(sa_type=BigInteger)
    schema_version: int
    previous_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    origin: str = Field(sa_type=TEXT)
    kind: str = Field(sa_type=TEXT)
    changed: int = Field(sa_type=BigInteger)  # a mask: bit i for position i
    data: str = Field(sa_type=TEXT)
    reasons: str | None = Field(default=None, sa_type=TEXT)
    overrides: str | None = Field(default=None, sa_type=TEXT)
    presence: str = Field(sa_type=TEXT)
    observation_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    item: int | None = None
    run_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    actor_id: bytes | None = Field(default=None, sa_type=LargeBinary)
    request_id: str | None = Field(default=None, sa_type=TEXT)
    request_hash: bytes | None = Field(default=None, sa_type=LargeBinary)
    created_at: int = Field(sa_type=BigInteger)
    was: str | None = Field(default=None, sa_type=TEXT)  # the values before, if they say all
    evidence: str | None = Field(default=None, sa_type=TEXT)


class RevisionFieldRecord(SQLModel, table=True):
    """Which revisions changed a field: the index behind the timeline of a cell."""

    __tablename__ = "revision_fields"
    __table_args__ = ({"sqlite_with_rowid": False},)  # else SQLite keeps every line twice
    dataset_id: bytes = _key()
    position: int = Field(primary_key=True)
    sequence: int = Field(sa_type=BigInteger, primary_key=True)


class ObservationRecord(SQLModel, table=True):
    """One page as one Run saw it; ``entries`` maps an item to its texts by position."""

    __tablename__ = "observations"
    id: bytes = _key()
    dataset_id: bytes = Field(sa_type=LargeBinary, foreign_key="datasets.id", index=True)
    run_id: bytes = Field(sa_type=LargeBinary)
    source_url: str = Field(sa_type=TEXT)
    observed_at: int = Field(sa_type=BigInteger)
    digest: bytes = Field(sa_type=LargeBinary)
    entries: str = Field(sa_type=TEXT)
