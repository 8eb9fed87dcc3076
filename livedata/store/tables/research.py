"""The tables of research: what a Run recorded, what it asked, and the entities that have keys.

Nothing of them stands in the tables of rows and Runs, so a dataset of selectors pays for none. That
a Run is `fresh` stands in its row, which is there before its first attempt.
"""

from __future__ import annotations

from sqlalchemy import Index, UniqueConstraint
from sqlmodel import Field, SQLModel

from livedata.store.database import codec
from livedata.store.research import attempts, entities, usage
from livedata.store.tables.columns import (
    archived,
    big,
    id_of,
    json,
    loose_id,
    moment,
    only_of_research,
    own_id,
    packed,
    text,
)


class BodyRecord(SQLModel, table=True):
    """A text that was recorded, once per dataset: compressed, by the SHA-256 of its UTF-8."""

    __tablename__ = "bodies"
    __table_args__ = (Index("ix_bodies_used_at", "used_at"), only_of_research())
    dataset_id: bytes = id_of("datasets", primary_key=True)
    hash: bytes = Field(primary_key=True)
    used_at: int = moment()
    body: bytes = packed(codec.unpack_text)


class ArtifactRecord(SQLModel, table=True):
    """A body as one attempt met it; ``answered_at`` only if it may answer the same again."""

    __tablename__ = "artifacts"
    __table_args__ = (
        UniqueConstraint("run_id", "number"),
        Index("ix_artifacts_dataset_id_request_digest", "dataset_id", "request_digest"),
        Index("ix_artifacts_created_at", "created_at"),
        only_of_research(),
    )
    id: bytes = own_id()
    dataset_id: bytes = id_of("datasets")
    run_id: bytes = id_of("runs")
    attempt_id: bytes = id_of("research_attempts")
    step_id: bytes = loose_id()
    number: int
    kind: str = text()
    source_url: str = text()
    part: str = text()  # the window; that is a word of SQL
    request_digest: bytes
    hash: bytes
    size: int = big()
    kept: bool  # a body that is too long is not
    answered_at: int | None = moment()
    created_at: int = moment()


class ResearchAttemptRecord(SQLModel, table=True):
    """An attempt with its harness, and what it knew (a body); one that is given back stays."""

    __tablename__ = "research_attempts"
    __table_args__ = (Index("ix_research_attempts_run_id", "run_id"), only_of_research())
    id: bytes = own_id()
    run_id: bytes = id_of("runs")
    harness_version: str = text()
    memory: bytes | None
    started_at: int = moment()


class ResearchStepRecord(SQLModel, table=True):
    """A step that has ended: JSON, and the facts of it, compressed."""

    __tablename__ = "research_steps"
    __table_args__ = (
        UniqueConstraint("attempt_id", "number"),
        Index("ix_research_steps_started_at", "started_at"),
        only_of_research(),
    )
    id: bytes = own_id()
    run_id: bytes = id_of("runs")
    attempt_id: bytes = id_of("research_attempts")
    number: int
    step: str = json(attempts.STEP)
    facts: bytes | None = packed(attempts.unpack_facts)
    started_at: int = moment()


class ModelCallRecord(SQLModel, table=True):
    """What one call of a model or a search provider took: JSON."""

    __tablename__ = "model_calls"
    __table_args__ = (
        Index("ix_model_calls_run_id", "run_id"),
        Index("ix_model_calls_created_at", "created_at"),
        only_of_research(),
    )
    id: bytes = own_id()
    run_id: bytes = id_of("runs")
    attempt_id: bytes = id_of("research_attempts")
    step_id: bytes = loose_id()
    phase: str = text()
    took: str = json(usage.USAGE)
    created_at: int = moment()


class EntityRecord(SQLModel, table=True):
    """An entity that a row stands for, with all by which it is found again: JSON.

    What is recorded of Runs names an entity by its number, which is shorter than its key.
    """

    __tablename__ = "entities"
    __table_args__ = (
        UniqueConstraint("dataset_id", "number"),
        archived("key identity number", order="key", research=True),
    )
    dataset_id: bytes = id_of("datasets", primary_key=True)
    key: str = text(primary_key=True)
    number: int = big()
    identity: str = json(entities.IDENTITY)


class ResearchDayRecord(SQLModel, table=True):
    """What the research of an owner has used of a day, and how many Runs the day has stopped.

    In a row of its own and not a sum of calls: two Runs must not both be given what is left.
    """

    __tablename__ = "research_days"
    __table_args__ = only_of_research()
    owner: str = text(primary_key=True, foreign_key="owners.name")
    day: str = text(primary_key=True)
    tokens: int = big()
    micro_usd: int = big()
    stopped: int = big()
