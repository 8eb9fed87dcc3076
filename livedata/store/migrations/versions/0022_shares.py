"""A table may have addresses at which it is read without a key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "shares",
        sa.Column("id", sa.LargeBinary, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("dataset_id", sa.LargeBinary, nullable=False),
        sa.Column("token_hash", sa.LargeBinary, nullable=False),
        sa.Column("label", TEXT, nullable=True),
        sa.Column("columns", TEXT, nullable=True),
        sa.Column("clauses", TEXT, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger, nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.name"], name=op.f("fk_shares_owner_owners")),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name=op.f("fk_shares_dataset_id_datasets")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shares")),
    )
    op.create_index("uq_shares_token_hash", "shares", ["token_hash"], unique=True)
    op.create_index("ix_shares_dataset_id", "shares", ["dataset_id"])


def downgrade() -> None:
    op.drop_table("shares")
