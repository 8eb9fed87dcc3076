"""The page that stopped a Run, and an index for what is forgotten after 30 days."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "failed_pages",
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("url", TEXT, nullable=False),
        sa.Column("final_url", TEXT, nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("title", TEXT, nullable=True),
        sa.Column("markup", sa.LargeBinary(), nullable=False),
        sa.Column("cut", sa.Boolean(), nullable=False),
        sa.Column("counts", TEXT, nullable=True),
        sa.Column("screenshot", sa.LargeBinary(), nullable=True),
        sa.Column("kept_until", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_failed_pages_run_id_runs")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_failed_pages")),
    )
    with op.batch_alter_table("failed_pages", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_failed_pages_kept_until"), ["kept_until"], unique=False
        )
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.create_index(
            "ix_attempts_started_at",
            ["started_at"],
            unique=False,
            sqlite_where=sa.text("steps IS NOT NULL"),
            postgresql_where=sa.text("steps IS NOT NULL"),
        )


def downgrade() -> None:
    with op.batch_alter_table("attempts", schema=None) as batch_op:
        batch_op.drop_index(
            "ix_attempts_started_at",
            sqlite_where=sa.text("steps IS NOT NULL"),
            postgresql_where=sa.text("steps IS NOT NULL"),
        )
    with op.batch_alter_table("failed_pages", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_failed_pages_kept_until"))

    op.drop_table("failed_pages")
