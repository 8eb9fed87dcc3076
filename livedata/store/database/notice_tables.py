"""Who hears of changes: the tables of notices, of feeds, and of those who read the changes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from livedata.store.migrations.columns import TEXT, some
from livedata.store.migrations.columns import key as _key


class NoticeRecord(SQLModel, table=True):
    """Whom to tell of what: ``datasets`` are JSON ids, or None for all that the owner has."""

    __tablename__ = "notices"
    __table_args__ = (UniqueConstraint("owner", "name"),)
    id: bytes = _key()
    owner: str = Field(sa_type=TEXT, foreign_key="owners.name")
    name: str = Field(sa_type=TEXT)
    channel: str = Field(sa_type=TEXT)
    target: str = Field(sa_type=TEXT)
    secret: str | None = Field(default=None, sa_type=TEXT)
    kinds: str = Field(sa_type=TEXT)
    datasets: str | None = Field(default=None, sa_type=TEXT)
    threshold: int
    silent_for: int | None = Field(default=None, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)  # its receiver said: no more


class NoticeStreamRecord(SQLModel, table=True):
    """What a notice tells of one dataset, in order: where it stands, and who delivers it now."""

    __tablename__ = "notice_streams"
    __table_args__ = (
        some("ix_notice_streams_due_at", "due_at", where="due_at IS NOT NULL", unique=False),
    )
    notice_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="notices.id")
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    sequence: int = Field(default=0, sa_type=BigInteger)
    failures: int = 0  # Runs in a row that were not accepted
    failing: bool = False  # told, and not recovered since
    silent: bool = False
    due_at: int | None = Field(default=None, sa_type=BigInteger)  # or until when it is leased
    fence: int = Field(default=0, sa_type=BigInteger)
    holder: str | None = Field(default=None, sa_type=TEXT)
    tries: int = 0


class OutboxRecord(SQLModel, table=True):
    """A message of a notice; ``data`` is JSON, the changes are read from the feed."""

    __tablename__ = "outbox"
    __table_args__ = (
        some(
            "uq_outbox_waiting",
            *("notice_id", "dataset_id", "sequence"),
            where="status = 'waiting'",
        ),
        Index("ix_outbox_status_ended_at", "status", "ended_at"),
    )
    id: bytes = _key()
    notice_id: bytes = _key("notices.id")
    dataset_id: bytes = _key("datasets.id")
    sequence: int = Field(sa_type=BigInteger)
    kind: str = Field(sa_type=TEXT)
    data: str = Field(sa_type=TEXT)
    after_sequence: int | None = Field(default=None, sa_type=BigInteger)
    through_sequence: int | None = Field(default=None, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    status: str = Field(sa_type=TEXT)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    problem: str | None = Field(default=None, sa_type=TEXT)  # why it was not delivered


class FeedTokenRecord(SQLModel, table=True):
    """What opens the feed of a dataset to those who have its address."""

    __tablename__ = "feed_tokens"
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    token: str = Field(sa_type=TEXT)
    created_at: int = Field(sa_type=BigInteger)


class CursorRecord(SQLModel, table=True):
    """Where a named reader of the feed stopped."""

    __tablename__ = "cursors"
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    name: str = Field(sa_type=TEXT, primary_key=True)
    position: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
