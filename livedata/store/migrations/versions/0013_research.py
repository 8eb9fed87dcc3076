"""What research records: bodies, artifacts, attempts with their steps, calls, and entities."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bodies",
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("used_at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        _refers("bodies", "dataset_id", "datasets"),
        sa.PrimaryKeyConstraint("dataset_id", "hash", name=op.f("pk_bodies")),
    )
    op.create_index("ix_bodies_used_at", "bodies", ["used_at"])
    op.create_table(
        "entities",
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("identity", TEXT, nullable=False),
        _refers("entities", "dataset_id", "datasets"),
        sa.PrimaryKeyConstraint("dataset_id", "key", name=op.f("pk_entities")),
        sa.UniqueConstraint("dataset_id", "number", name=op.f("uq_entities_dataset_id_number")),
    )
    op.create_table(
        "research_attempts",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("harness_version", TEXT, nullable=False),
        sa.Column("memory", sa.LargeBinary(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        _refers("research_attempts", "run_id", "runs"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_research_attempts")),
    )
    op.create_index("ix_research_attempts_run_id", "research_attempts", ["run_id"])
    op.create_table(
        "research_steps",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("attempt_id", sa.LargeBinary(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("step", TEXT, nullable=False),
        sa.Column("facts", sa.LargeBinary(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        *_of_an_attempt("research_steps"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_research_steps")),
        sa.UniqueConstraint(
            "attempt_id", "number", name=op.f("uq_research_steps_attempt_id_number")
        ),
    )
    op.create_index("ix_research_steps_started_at", "research_steps", ["started_at"])
    op.create_table(
        "model_calls",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("attempt_id", sa.LargeBinary(), nullable=False),
        sa.Column("step_id", sa.LargeBinary(), nullable=False),
        sa.Column("phase", TEXT, nullable=False),
        sa.Column("took", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        *_of_an_attempt("model_calls"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_model_calls")),
    )
    op.create_index("ix_model_calls_run_id", "model_calls", ["run_id"])
    _create_artifacts()


def _create_artifacts() -> None:
    op.create_table(
        "artifacts",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("attempt_id", sa.LargeBinary(), nullable=False),
        sa.Column("step_id", sa.LargeBinary(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("source_url", TEXT, nullable=False),
        sa.Column("part", TEXT, nullable=False),
        sa.Column("request_digest", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.Column("answered_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        _refers("artifacts", "dataset_id", "datasets"),
        *_of_an_attempt("artifacts"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("run_id", "number", name=op.f("uq_artifacts_run_id_number")),
    )
    op.create_index(
        "ix_artifacts_dataset_id_request_digest", "artifacts", ["dataset_id", "request_digest"]
    )
    op.create_index("ix_artifacts_created_at", "artifacts", ["created_at"])


def _of_an_attempt(table: str) -> tuple[sa.ForeignKeyConstraint, sa.ForeignKeyConstraint]:
    return (
        _refers(table, "run_id", "runs"),
        _refers(table, "attempt_id", "research_attempts"),
    )


def _refers(table: str, column: str, other: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}_{other}")
    )


def downgrade() -> None:
    for table in (
        *("artifacts", "model_calls", "research_steps", "research_attempts"),
        *("entities", "bodies"),
    ):
        op.drop_table(table)
