"""Runs know from the start that they ask a model anew, whoever executes them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("fresh", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "fresh")
