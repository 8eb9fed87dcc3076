"""A running Run holds the turn of one site at a time; revisions say what stood before."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_RUNNING = sa.text("status = 'running'")


def upgrade() -> None:
    op.add_column("runs", sa.Column("turn", TEXT, nullable=True))
    op.execute("UPDATE runs SET turn = site WHERE status = 'running'")
    op.drop_index("uq_runs_site", "runs")
    _index("uq_runs_turn", "turn")
    op.add_column("revisions", sa.Column("was", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("revisions", "was")
    op.drop_index("uq_runs_turn", "runs")
    _index("uq_runs_site", "site")
    op.drop_column("runs", "turn")


def _index(name: str, column: str) -> None:
    op.create_index(
        name,
        "runs",
        [column],
        unique=True,
        sqlite_where=_RUNNING,
        postgresql_where=_RUNNING,
    )
