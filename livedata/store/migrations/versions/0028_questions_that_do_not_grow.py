"""Who is silent, in trouble or changed last is found without reading every dataset."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

UNFIRED = "status <> 'paused' AND (status = 'draft' OR schedule IS NULL)"
UNACCEPTED = "status IN ('failed', 'blocked', 'held') AND followed IS NULL"

# In a store of today each that ends is noted within an hour.
NOTE_FOLLOWED = """
UPDATE runs SET followed = TRUE WHERE status IN ('failed', 'blocked', 'held') AND EXISTS (
    SELECT 1 FROM runs l WHERE l.dataset_id = runs.dataset_id
    AND (l.queued_at, l.id) > (runs.queued_at, runs.id) AND l.status NOT IN ('queued', 'running'))
"""


def upgrade() -> None:
    op.add_column("datasets", sa.Column("heard_at", sa.BigInteger, nullable=True))
    op.add_column("runs", sa.Column("followed", sa.Boolean, nullable=True))
    op.execute(NOTE_FOLLOWED)
    _some("ix_datasets_unfired", "datasets", ["owner", "schedule"], UNFIRED)
    _some("ix_datasets_heard_at", "datasets", ["owner", "heard_at"], "status <> 'paused'")
    op.create_index("ix_datasets_created_at", "datasets", ["owner", "created_at", "id"])
    op.create_index("ix_datasets_rows_updated_at", "datasets", ["owner", "rows_updated_at"])
    _some("ix_runs_unaccepted", "runs", ["status", "dataset_id"], UNACCEPTED)


def downgrade() -> None:
    op.drop_index("ix_runs_unaccepted", "runs")
    for name in ("rows_updated_at", "created_at", "heard_at", "unfired"):
        op.drop_index(f"ix_datasets_{name}", "datasets")
    op.drop_column("runs", "followed")
    op.drop_column("datasets", "heard_at")


def _some(name: str, table: str, columns: list[str], where: str) -> None:
    """An index over the rows that fulfil a condition."""
    condition = sa.text(where)
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition)
