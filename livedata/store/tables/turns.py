"""The tables of when Runs may begin: turns at a site, and fires that were skipped."""

from __future__ import annotations

from sqlmodel import SQLModel

from livedata.store.tables.columns import id_of, moment, text


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
