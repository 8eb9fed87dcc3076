"""An attempt in progress says how many pages and items it has read so far."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("attempts", sa.Column("pages_read", sa.Integer(), nullable=True))
    op.add_column("attempts", sa.Column("items_read", sa.Integer(), nullable=True))


def downgrade() -> None:
    op.drop_column("attempts", "items_read")
    op.drop_column("attempts", "pages_read")
