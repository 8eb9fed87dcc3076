"""What pages show over time is found at once: rows that a Run brought back, and recent calls."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    condition = sa.text("kind = 'returned'")
    op.create_index(
        "ix_revisions_run_id",
        "revisions",
        ["run_id"],
        sqlite_where=condition,
        postgresql_where=condition,
    )
    op.create_index("ix_model_calls_created_at", "model_calls", ["created_at"])


def downgrade() -> None:
    op.drop_index("ix_model_calls_created_at", table_name="model_calls")
    op.drop_index("ix_revisions_run_id", table_name="revisions")
