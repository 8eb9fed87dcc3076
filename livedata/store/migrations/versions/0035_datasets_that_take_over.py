"""A dataset may take over the hand edits of another one, at its first accepted Run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("takes_over", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("datasets", "takes_over")
