"""Who has what: owners with balance and ledger, their keys, and browsers signed in by these."""

from __future__ import annotations

from sqlalchemy import Index
from sqlmodel import Field, SQLModel

from livedata.store.tables.columns import big, id_of, loose_id, moment, own_id, text


class OwnerRecord(SQLModel, table=True):
    """An owner is a name with a balance: a row of its own, never a sum."""

    __tablename__ = "owners"
    name: str = text(primary_key=True)
    balance: int = big()
    created_at: int = moment()


class KeyRecord(SQLModel, table=True):
    """An API key, kept as its SHA-256 only."""

    __tablename__ = "api_keys"
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name", index=True)
    label: str | None = text()
    hash: bytes = Field(unique=True)
    created_at: int = moment()
    last_used_at: int | None = moment()
    revoked_at: int | None = moment()


class LedgerRecord(SQLModel, table=True):
    """An entry of the ledger, which only grows."""

    __tablename__ = "ledger"
    __table_args__ = (Index("ix_ledger_owner_created_at", "owner", "created_at"),)
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name")
    kind: str = text()
    credits: int = big()
    balance_after: int = big()
    # No foreign keys, since an entry outlives dataset and Run. Unique, so that no Run is charged
    # twice: grants have NULL, and a unique index takes any number of NULLs, on both databases.
    dataset_id: bytes | None = loose_id()
    run_id: bytes | None = loose_id(unique=True)
    note: str | None = text()
    created_at: int = moment()


class SessionRecord(SQLModel, table=True):
    """A browser that is signed in by a key, until then; its token is kept as its SHA-256 only."""

    __tablename__ = "browser_sessions"
    hash: bytes = Field(primary_key=True)
    key_id: bytes = id_of("api_keys", index=True)
    expires_at: int = moment()


class SignInLinkRecord(SQLModel, table=True):
    """A link that signs a browser in once, by a key; kept as the SHA-256 of its token only."""

    __tablename__ = "sign_in_links"
    hash: bytes = Field(primary_key=True)
    key_id: bytes = id_of("api_keys", index=True)
    expires_at: int = moment()
