"""A dataset knows the columns that were dropped: its rows keep what they had there."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("dropped_columns", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("datasets", "dropped_columns")
