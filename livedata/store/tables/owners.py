"""Owners: what they have, who is signed in for them, and who hears and reads of their tables."""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from livedata.store import notices
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
)


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
    __table_args__ = (
        Index("ix_ledger_owner_created_at", "owner", "created_at"),
        some(
            "ix_ledger_granted", "kind", "owner", "created_at", where="kind = 'grant'", unique=False
        ),
    )
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


class NoticeRecord(SQLModel, table=True):
    """Whom to tell of what: ``datasets`` are JSON ids, or None for all that the owner has."""

    __tablename__ = "notices"
    __table_args__ = (
        UniqueConstraint("owner", "name"),
        some("ix_notices_digest_at", "digest_at", where="digest_at IS NOT NULL", unique=False),
    )
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name")
    name: str = text()
    channel: str = text()
    target: str = text()
    secret: str | None = text()
    kinds: str = json(codec.NAMES)
    datasets: str | None = json(codec.NAMES)
    threshold: int
    silent_for: int | None = big()
    created_at: int = moment()
    ended_at: int | None = moment()  # its receiver said: no more
    change_filter: str | None = json(notices.CHANGE_FILTER)  # None: of all changes
    digest: str | None = text()  # the cron by which changes are told together
    digest_at: int | None = moment()  # its next fire, as reckoned in the time zone digest_zone
    digest_zone: str | None = text()


class NoticeStreamRecord(SQLModel, table=True):
    """What a notice tells of one dataset, in order: where it stands, and who delivers it now.

    Its digests are about several: they have a stream of their own, whose ``dataset_id`` is the id
    of the notice.
    """

    __tablename__ = "notice_streams"
    __table_args__ = (
        some("ix_notice_streams_due_at", "due_at", where="due_at IS NOT NULL", unique=False),
    )
    notice_id: bytes = id_of("notices", primary_key=True)
    dataset_id: bytes = loose_id(primary_key=True)
    sequence: int = big()
    failures: int  # Runs in a row that were not accepted
    failing: bool  # told, and not recovered since
    silent: bool
    due_at: int | None = moment()  # or until when it is leased
    fence: int = big()
    holder: str | None = text()
    tries: int
    digested: int | None = big()  # the changes up to this sequence were told in digests


class OutboxRecord(SQLModel, table=True):
    """A message of a notice; ``data`` is JSON, the changes are read from the feed.

    Of a digest ``dataset_id`` is the id of its notice, and ``data`` has the changes.
    """

    __tablename__ = "outbox"
    __table_args__ = (
        some(
            "uq_outbox_waiting",
            *("notice_id", "dataset_id", "sequence"),
            where="status = 'waiting'",
        ),
        Index("ix_outbox_status_ended_at", "status", "ended_at"),
    )
    id: bytes = own_id()
    notice_id: bytes = id_of("notices")
    dataset_id: bytes = loose_id()
    sequence: int = big()
    kind: str = text()
    data: str = json(codec.TOLD)
    after_sequence: int | None = big()
    through_sequence: int | None = big()
    created_at: int = moment()
    status: str = text()
    ended_at: int | None = moment()
    problem: str | None = json(codec.PROBLEM)  # why it was not delivered


class FeedTokenRecord(SQLModel, table=True):
    """What opens the feed of a dataset to those who have its address."""

    __tablename__ = "feed_tokens"
    dataset_id: bytes = id_of("datasets", primary_key=True)
    token: str = text()
    created_at: int = moment()


class ShareRecord(SQLModel, table=True):
    """An address at which a table is read without a key; of its token only a hash is kept.

    ``columns`` are names, None for all; ``clauses`` hold for each row that is shown.
    """

    __tablename__ = "shares"
    __table_args__ = (
        Index("uq_shares_token_hash", "token_hash", unique=True),
        Index("ix_shares_dataset_id", "dataset_id"),
    )
    id: bytes = own_id()
    owner: str = text(foreign_key="owners.name")
    dataset_id: bytes = id_of("datasets")
    token_hash: bytes
    label: str | None = text()
    columns: str | None = json(codec.NAMES)
    clauses: str = json(codec.NAMES)
    created_at: int = moment()
    revoked_at: int | None = moment()


class CursorRecord(SQLModel, table=True):
    """Where a named reader of the feed stopped."""

    __tablename__ = "cursors"
    __table_args__ = archived("name position updated_at", order="name")
    dataset_id: bytes = id_of("datasets", primary_key=True)
    name: str = text(primary_key=True)
    position: int = big()
    updated_at: int = moment()
