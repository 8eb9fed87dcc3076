"""A row whose cells were read at several places keeps its evidence cell by cell."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("rows", sa.Column("evidence", TEXT, nullable=True))
    op.add_column("revisions", sa.Column("evidence", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("revisions", "evidence")
    op.drop_column("rows", "evidence")
