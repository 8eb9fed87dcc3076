"""A dataset may have a column of which the texts name its rows."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("label_column", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("datasets", "label_column")
