"""Datasets and Runs know that they were imported; held outputs are found by their time."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("imported_head", sa.BigInteger(), nullable=True))
    op.add_column("runs", sa.Column("imported_at", sa.BigInteger(), nullable=True))
    op.create_index("ix_held_outputs_kept_until", "held_outputs", ["kept_until"])


def downgrade() -> None:
    op.drop_index("ix_held_outputs_kept_until", table_name="held_outputs")
    op.drop_column("runs", "imported_at")
    op.drop_column("datasets", "imported_head")
