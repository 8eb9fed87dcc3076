"""The tables of when Runs may begin: turns at a site, and fires that were skipped."""

from __future__ import annotations

from sqlalchemy import BigInteger, LargeBinary
from sqlmodel import Field, SQLModel

from livedata.store.migrations.columns import TEXT


class SiteTurnRecord(SQLModel, table=True):
    """When a Run of an owner last began at a site where others waited."""

    __tablename__ = "site_turns"
    site: str = Field(sa_type=TEXT, primary_key=True)
    owner: str = Field(sa_type=TEXT, primary_key=True)
    began_at: int = Field(sa_type=BigInteger)


class SkippedFireRecord(SQLModel, table=True):
    """A fire of a dataset's schedule that queued no Run, and why."""

    __tablename__ = "skipped_fires"
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    fired_at: int = Field(sa_type=BigInteger, primary_key=True)
    reason: str = Field(sa_type=TEXT)
