"""Revisions say what stood before; those written so far go on looking it up."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("revisions", sa.Column("was", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("revisions", "was")
