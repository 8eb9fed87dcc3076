"""Runs with what is kept of them, and what they have found: rows, their history, and the pages.

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
    counted_on,
    id_of,
    json,
    loose_id,
    moment,
    own_id,
    packed,
    some,
    text,
    vacuumed_soon,
    version_of,
)


class RunRecord(SQLModel, table=True):
    """A Run: its status, its lease, its fence, and what came of it."""

    __tablename__ = "runs"
    __table_args__ = (
        # One open Run of a dataset, whoever queues it: an index cannot be raced.
        some("uq_runs_open", "dataset_id", where="status IN ('queued', 'running')"),
        # One running Run that asks a site; one that waits has NULL, which equals nothing.
        some("uq_runs_turn", "turn", where="status = 'running'"),
        # The Runs whose facts may be deleted: what is deleted once is never walked again.
        some(
            "ix_runs_dataset_id_completed_at",
            *("dataset_id", "completed_at"),
            where="facts IS NOT NULL AND status = 'succeeded'",
            unique=False,
        ),
        Index("ix_runs_dataset_id_queued_at", "dataset_id", "queued_at", "id"),
        Index("ix_runs_status_queued_at", "status", "queued_at"),
        # The Runs that wait for a site: few, among very many.
        some(
            "ix_runs_waiting",
            *("site", "queued_at", "id"),
            where="status = 'queued'",
            unique=False,
        ),
        # Owner by owner those that wait for a site, and how many an owner has open.
        some(
            "ix_runs_waiting_of_owner",
            *("site", "owner", "queued_at", "id"),
            where="status = 'queued'",
            unique=False,
        ),
        some("ix_runs_open", "owner", where="status IN ('queued', 'running')", unique=False),
        # The Runs that may be the last of their dataset, and were not accepted.
        some(
            "ix_runs_unaccepted",
            *("status", "dataset_id"),
            where="status IN ('failed', 'blocked', 'held') AND followed IS NULL",
            unique=False,
        ),
        # Those that rows, revisions, observations and charges name: all of them were accepted.
        vacuumed_soon(
            archived(
                "id recipe_version attempt fence new_rows changed_rows gone_rows queued_at "
                "started_at completed_at site checks stop facts",
                order="rowid",
                where="dataset_id = :dataset AND status = 'succeeded'",
                always="started_at completed_at",
            )
        ),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    recipe_version: int = version_of("recipes")
    site: str = text()
    status: str = text()
    attempt: int
    fence: int  # grows with every start, while an attempt that is given back does not count
    alone: bool
    lease_owner: str | None = text()
    lease_until: int | None = moment()
    checks: str = json(codec.CHECKS)
    new_rows: int
    changed_rows: int
    gone_rows: int
    error: str | None = text()
    stop: str | None = json(codec.STOP)
    facts: str | None = json(codec.FACTS, compressed=True)
    queued_at: int = moment()
    started_at: int | None = moment()
    completed_at: int | None = moment()
    rowid: int = counted_on("postgresql")  # the order of Runs: no clock can change it
    turn: str | None = text()  # the site that it asks while it runs
    problem: str | None = json(codec.PROBLEM)
    lease_origin: int | None = big()  # of the wall clock, when the lease was written
    idempotency_hash: bytes | None
    imported_at: int | None = moment()  # executed in another store
    fresh: bool | None  # if true, research takes no answer from before
    cancel_asked_at: int | None = moment()  # while it runs: whoever executes it is to end it
    only_hosts: str | None = text()  # with commas between: no other may be read; None means all
    followed: bool | None  # known to be followed by one that is over, if it was not accepted
    owner: str | None = text()  # of its dataset, when it was queued; no archive has it


class AttemptRecord(SQLModel, table=True):
    """One attempt at a Run, with its steps (a JSON list, None once it is pruned)."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        some("ix_attempts_started_at", "started_at", where="steps IS NOT NULL", unique=False),
        vacuumed_soon({}),
    )
    id: bytes = own_id()
    run_id: bytes = id_of("runs")
    number: int
    started_at: int = moment()
    ended_at: int | None = moment()
    steps: str | None = json(codec.STEPS, compressed=True)
    pages_read: int | None  # so far, while it is in progress
    items_read: int | None


class HeldRecord(SQLModel, table=True):
    """The output of a Run that waits for a person: a compressed harvest."""

    __tablename__ = "held_outputs"
    run_id: bytes = id_of("runs", primary_key=True)
    harvest: bytes = packed(codec.load_harvest)
    kept_until: int = moment(index=True)


class FailedPageRecord(SQLModel, table=True):
    """The page that stopped a Run which was not accepted: ``markup`` is compressed UTF-8."""

    __tablename__ = "failed_pages"
    run_id: bytes = id_of("runs", primary_key=True)
    number: int
    url: str = text()
    final_url: str = text()
    status: int
    title: str | None = text()
    markup: bytes = packed(codec.unpack_text)
    cut: bool
    counts: str | None = json(codec.COUNTS)
    screenshot: bytes | None
    kept_until: int = moment(index=True)


class SiteTurnRecord(SQLModel, table=True):
    """When a Run of an owner last began at a site where others waited."""

    __tablename__ = "site_turns"
    site: str = text(primary_key=True)
    owner: str = text(primary_key=True)
    began_at: int = moment()


class SkippedFireRecord(SQLModel, table=True):
    """A fire of a dataset's schedule that queued no Run, and why."""

    __tablename__ = "skipped_fires"
    dataset_id: bytes = id_of("datasets", primary_key=True)
    fired_at: int = moment(primary_key=True)
    reason: str = text()


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
