"""How the tables are declared: names of constraints, text, keys, and indexes over some rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Index, LargeBinary, Text, text
from sqlmodel import Field, SQLModel

# By rule: a migration can only drop what has a name.
NAMES: Final[Mapping[str, str]] = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
}
# Here, because every file of tables imports this one before its first table.
SQLModel.metadata.naming_convention = NAMES
# PostgreSQL sorts text by the language of the database: `_ a B Z` here, `B Z _ a` there. With the
# collation "C" it goes by code points, as SQLite and Python do.
TEXT: Final = Text().with_variant(Text(collation="C"), "postgresql")
"""Text that every database sorts alike."""


def key(foreign: str | None = None, *, index: bool = False) -> bytes:
    """The column of an id: the table's own, or that of another table."""
    own = {"primary_key": True} if foreign is None else {"foreign_key": foreign, "index": index}
    return Field(sa_type=LargeBinary, **own)  # type: ignore[no-any-return]


def some(name: str, *columns: str, where: str, unique: bool = True) -> Index:
    """An index over the rows that fulfil a condition."""
    condition = text(where)  # SQLAlchemy has it apart for each database; both mean the same
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def facts_by_age() -> Index:
    """The index of the Runs whose facts may go: what has gone once is never walked again."""
    where = "facts IS NOT NULL AND status = 'succeeded'"
    name = "ix_runs_dataset_id_completed_at"
    return some(name, "dataset_id", "completed_at", where=where, unique=False)


def waiting_runs() -> Index:
    """The index of the Runs that wait for a site: few, among very many."""
    where = "status = 'queued'"
    return some("ix_runs_waiting", "site", "queued_at", "id", where=where, unique=False)


def returned_rows() -> Index:
    """The index of the revisions by which a Run brought rows back: few, among very many."""
    return some("ix_revisions_run_id", "run_id", where="kind = 'returned'", unique=False)


def once_a_request() -> Index:
    """The index by which an edit that a client sends again after a lost answer is written once."""
    name = "uq_revisions_row_id_request_id"
    return some(name, "row_id", "request_id", where="request_id IS NOT NULL")
