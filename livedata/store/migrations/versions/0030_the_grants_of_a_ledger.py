"""What an owner was granted is found without reading every entry of the ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

GRANTS = sa.text("kind = 'grant'")


def upgrade() -> None:
    op.create_index(
        "ix_ledger_granted",
        "ledger",
        ["owner", "created_at"],
        sqlite_where=GRANTS,
        postgresql_where=GRANTS,
    )


def downgrade() -> None:
    op.drop_index("ix_ledger_granted", "ledger")
