"""A Run knows the hosts that it may read, whoever executes it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("only_hosts", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "only_hosts")
