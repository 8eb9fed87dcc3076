"""What is due, or planned wrong, is found without reading every dataset."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_index("ix_datasets_next_run_at", "datasets")
    op.create_index("ix_datasets_next_run_at", "datasets", ["next_run_at", "id"])
    scheduled = sa.text("status = 'active' AND schedule IS NOT NULL")
    op.create_index(
        "ix_datasets_schedule",
        "datasets",
        ["schedule", "next_run_zone", "next_run_at"],
        sqlite_where=scheduled,
        postgresql_where=scheduled,
    )


def downgrade() -> None:
    op.drop_index("ix_datasets_schedule", "datasets")
    op.drop_index("ix_datasets_next_run_at", "datasets")
    op.create_index("ix_datasets_next_run_at", "datasets", ["next_run_at"])
