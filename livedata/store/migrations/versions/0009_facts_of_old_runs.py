"""The facts of accepted Runs are found by their age, so that old ones can be let go of."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    condition = sa.text("facts IS NOT NULL AND status = 'succeeded'")
    op.create_index(
        "ix_runs_dataset_id_completed_at",
        "runs",
        ["dataset_id", "completed_at"],
        sqlite_where=condition,
        postgresql_where=condition,
    )


def downgrade() -> None:
    op.drop_index("ix_runs_dataset_id_completed_at", table_name="runs")
