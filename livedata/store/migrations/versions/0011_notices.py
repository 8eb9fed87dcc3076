"""Notices, what they have to deliver, and the tokens of feeds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "notices",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("channel", TEXT, nullable=False),
        sa.Column("target", TEXT, nullable=False),
        sa.Column("secret", TEXT, nullable=True),
        sa.Column("kinds", TEXT, nullable=False),
        sa.Column("datasets", TEXT, nullable=True),
        sa.Column("threshold", sa.Integer(), nullable=False),
        sa.Column("silent_for", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.name"], name=op.f("fk_notices_owner_owners")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("owner", "name", name=op.f("uq_notices_owner_name")),
    )
    op.create_table(
        "notice_streams",
        sa.Column("notice_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing", sa.Boolean(), nullable=False),
        sa.Column("silent", sa.Boolean(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("holder", TEXT, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        *_of_a_notice("notice_streams"),
        sa.PrimaryKeyConstraint("notice_id", "dataset_id", name=op.f("pk_notice_streams")),
    )
    due = sa.text("due_at IS NOT NULL")
    op.create_index(
        "ix_notice_streams_due_at",
        "notice_streams",
        ["due_at"],
        sqlite_where=due,
        postgresql_where=due,
    )
    _create_outbox()
    op.create_table(
        "feed_tokens",
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("token", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_feed_tokens_dataset_id_datasets")
        ),
        sa.PrimaryKeyConstraint("dataset_id", name=op.f("pk_feed_tokens")),
    )


def _create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("id", sa.LargeBinary(), nullable=False),
        sa.Column("notice_id", sa.LargeBinary(), nullable=False),
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("data", TEXT, nullable=False),
        sa.Column("after_sequence", sa.BigInteger(), nullable=True),
        sa.Column("through_sequence", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("problem", TEXT, nullable=True),
        *_of_a_notice("outbox"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
    )
    waiting = sa.text("status = 'waiting'")
    op.create_index(
        "uq_outbox_waiting",
        "outbox",
        ["notice_id", "dataset_id", "sequence"],
        unique=True,
        sqlite_where=waiting,
        postgresql_where=waiting,
    )
    op.create_index("ix_outbox_status_ended_at", "outbox", ["status", "ended_at"])


def _of_a_notice(table: str) -> tuple[sa.ForeignKeyConstraint, sa.ForeignKeyConstraint]:
    return (
        sa.ForeignKeyConstraint(
            ["notice_id"], ["notices.id"], name=op.f(f"fk_{table}_notice_id_notices")
        ),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f(f"fk_{table}_dataset_id_datasets")
        ),
    )


def downgrade() -> None:
    for table in ("feed_tokens", "outbox", "notice_streams", "notices"):
        op.drop_table(table)
