"""The tables of research: what a Run recorded, what it asked, and the entities that have keys.

Nothing of them stands in the tables of rows and Runs, so a dataset of selectors pays for none. That
a Run is `fresh` stands in its row, which is there before its first attempt.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Index, LargeBinary, UniqueConstraint
from sqlmodel import Field, SQLModel

from livedata.store.migrations.columns import TEXT
from livedata.store.migrations.columns import key as _key


class BodyRecord(SQLModel, table=True):
    """A text that was recorded, once per dataset: compressed, by the SHA-256 of its UTF-8."""

    __tablename__ = "bodies"
    __table_args__ = (Index("ix_bodies_used_at", "used_at"),)
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    hash: bytes = Field(sa_type=LargeBinary, primary_key=True)
    used_at: int = Field(sa_type=BigInteger)
    body: bytes = Field(sa_type=LargeBinary)


class ArtifactRecord(SQLModel, table=True):
    """A body as one attempt met it; ``answered_at`` only if it may answer the same again."""

    __tablename__ = "artifacts"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        Index("ix_artifacts_dataset_id_request_digest", "dataset_id", "request_digest"),
        Index("ix_artifacts_created_at", "created_at"),
    )
    id: bytes = _key()
    dataset_id: bytes = _key("datasets.id")
    run_id: bytes = _key("runs.id")
    attempt_id: bytes = _key("research_attempts.id")
    step_id: bytes = Field(sa_type=LargeBinary)
    number: int
    kind: str = Field(sa_type=TEXT)
    source_url: str = Field(sa_type=TEXT)
    part: str = Field(sa_type=TEXT)  # the window; that is a word of SQL
    request_digest: bytes = Field(sa_type=LargeBinary)
    hash: bytes = Field(sa_type=LargeBinary)
    size: int = Field(sa_type=BigInteger)
    kept: bool  # a body that is too long is not
    answered_at: int | None = Field(default=None, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)


class ResearchAttemptRecord(SQLModel, table=True):
    """An attempt with its harness, and what it knew (a body); one that is given back stays."""

    __tablename__ = "research_attempts"
    __table_args__ = (Index("ix_research_attempts_run_id", "run_id"),)
    id: bytes = _key()
    run_id: bytes = _key("runs.id")
    harness_version: str = Field(sa_type=TEXT)
    memory: bytes | None = Field(default=None, sa_type=LargeBinary)
    started_at: int = Field(sa_type=BigInteger)


class ResearchStepRecord(SQLModel, table=True):
    """A step that has ended: JSON, and the facts of it, compressed."""

    __tablename__ = "research_steps"
    __table_args__ = (
        UniqueConstraint("attempt_id", "number"),
        Index("ix_research_steps_started_at", "started_at"),
    )
    id: bytes = _key()
    run_id: bytes = _key("runs.id")
    attempt_id: bytes = _key("research_attempts.id")
    number: int
    step: str = Field(sa_type=TEXT)
    facts: bytes | None = Field(default=None, sa_type=LargeBinary)
    started_at: int = Field(sa_type=BigInteger)


class ModelCallRecord(SQLModel, table=True):
    """What one call of a model or a search provider took: JSON."""

    __tablename__ = "model_calls"
    __table_args__ = (
        Index("ix_model_calls_run_id", "run_id"),
        Index("ix_model_calls_created_at", "created_at"),
    )
    id: bytes = _key()
    run_id: bytes = _key("runs.id")
    attempt_id: bytes = _key("research_attempts.id")
    step_id: bytes = Field(sa_type=LargeBinary)
    phase: str = Field(sa_type=TEXT)
    took: str = Field(sa_type=TEXT)
    created_at: int = Field(sa_type=BigInteger)


class EntityRecord(SQLModel, table=True):
    """An entity that a row stands for, with all by which it is found again: JSON.

    What is recorded of Runs names an entity by its number, which is shorter than its key.
    """

    __tablename__ = "entities"
    __table_args__ = (UniqueConstraint("dataset_id", "number"),)
    dataset_id: bytes = Field(sa_type=LargeBinary, primary_key=True, foreign_key="datasets.id")
    key: str = Field(sa_type=TEXT, primary_key=True)
    number: int = Field(sa_type=BigInteger)
    identity: str = Field(sa_type=TEXT)


class ResearchDayRecord(SQLModel, table=True):
    """What the research of an owner has used of a day, and how many Runs the day has stopped.

    In a row of its own and not a sum of calls: two Runs must not both be given what is left.
    """

    __tablename__ = "research_days"
    owner: str = Field(sa_type=TEXT, primary_key=True, foreign_key="owners.name")
    day: str = Field(sa_type=TEXT, primary_key=True)
    tokens: int = Field(sa_type=BigInteger)
    micro_usd: int = Field(sa_type=BigInteger)
    stopped: int = Field(sa_type=BigInteger)
