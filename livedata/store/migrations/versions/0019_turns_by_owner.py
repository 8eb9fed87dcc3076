"""Turns of a site go round by owner: when each last had one, and who waits for which site."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "site_turns",
        sa.Column("site", TEXT, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("began_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("site", "owner"),
    )
    waits = sa.text("status = 'queued'")
    op.create_index(
        "ix_runs_waiting",
        "runs",
        ["site", "queued_at", "id"],
        sqlite_where=waits,
        postgresql_where=waits,
    )


def downgrade() -> None:
    op.drop_index("ix_runs_waiting", table_name="runs")
    op.drop_table("site_turns")
