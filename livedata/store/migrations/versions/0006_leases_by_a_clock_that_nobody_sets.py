"""A lease knows how the wall clock stood when it was written, so that a step of it ends none."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("lease_origin", sa.BigInteger(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "lease_origin")
