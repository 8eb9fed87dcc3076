"""A Run knows the idempotency key that asked for it, so that a repeated request finds it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("idempotency_hash", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "idempotency_hash")
