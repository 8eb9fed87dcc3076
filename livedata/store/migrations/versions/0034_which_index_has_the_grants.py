"""Let the index of grants begin with the kind of entry: of two alike SQLite took the other one."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

GRANTS = sa.text("kind = 'grant'")


def upgrade() -> None:
    _index("kind", "owner", "created_at")


def downgrade() -> None:
    _index("owner", "created_at")


def _index(*columns: str) -> None:
    name = "ix_ledger_granted"
    op.drop_index(name, "ledger")
    op.create_index(name, "ledger", columns, sqlite_where=GRANTS, postgresql_where=GRANTS)
