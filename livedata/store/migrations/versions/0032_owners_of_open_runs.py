"""Whose turn it is at a site, and how many Runs of an owner are open, is found by an index."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

OPEN = "status IN ('queued', 'running')"

# Of those that have ended nobody asks, and they are millions.
NOTE_OWNERS = f"""
UPDATE runs SET owner = (SELECT owner FROM datasets WHERE id = runs.dataset_id) WHERE {OPEN}
"""  # noqa: S608  (our own words)


def upgrade() -> None:
    op.add_column("runs", sa.Column("owner", TEXT, nullable=True))
    op.execute(NOTE_OWNERS)
    _some("ix_runs_waiting_of_owner", ["site", "owner", "queued_at", "id"], "status = 'queued'")
    _some("ix_runs_open", ["owner"], OPEN)


def downgrade() -> None:
    op.drop_index("ix_runs_open", "runs")
    op.drop_index("ix_runs_waiting_of_owner", "runs")
    op.drop_column("runs", "owner")


def _some(name: str, columns: list[str], where: str) -> None:
    """An index over the Runs that fulfil a condition."""
    condition = sa.text(where)
    op.create_index(name, "runs", columns, sqlite_where=condition, postgresql_where=condition)
