"""A Run in progress knows that it is to be cancelled, whoever executes it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("cancel_asked_at", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "cancel_asked_at")
