"""Runs, what is kept of those that were not accepted, and when they may begin."""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import SQLModel

from livedata.store.database import codec
from livedata.store.tables.columns import (
    archived,
    big,
    counted_on,
    id_of,
    json,
    moment,
    own_id,
    packed,
    some,
    text,
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
        # Those that rows, revisions, observations and charges name: all of them were accepted.
        archived(
            "id recipe_version attempt fence new_rows changed_rows gone_rows queued_at "
            "started_at completed_at site checks stop facts",
            order="rowid",
            where="dataset_id = :dataset AND status = 'succeeded'",
            always="started_at completed_at",
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


class AttemptRecord(SQLModel, table=True):
    """One attempt at a Run, with its steps (a JSON list, None once it is pruned)."""

    __tablename__ = "attempts"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        some("ix_attempts_started_at", "started_at", where="steps IS NOT NULL", unique=False),
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
