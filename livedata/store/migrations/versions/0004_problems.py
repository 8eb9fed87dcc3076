"""A Run keeps what went wrong with it as a value; its error says the same in a sentence."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("runs", sa.Column("problem", TEXT, nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "problem")
