"""A notice may tell of some changes alone."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("notices", sa.Column("change_filter", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("notices", "change_filter")
