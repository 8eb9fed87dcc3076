"""Browsers that are signed in to the pages, and links that sign one in once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in ("browser_sessions", "sign_in_links"):
        op.create_table(
            table,
            sa.Column("hash", sa.LargeBinary(), nullable=False),
            sa.Column("key_id", sa.LargeBinary(), nullable=False),
            sa.Column("expires_at", sa.BigInteger(), nullable=False),
            sa.ForeignKeyConstraint(
                ["key_id"], ["api_keys.id"], name=op.f(f"fk_{table}_key_id_api_keys")
            ),
            sa.PrimaryKeyConstraint("hash", name=op.f(f"pk_{table}")),
        )
        op.create_index(f"ix_{table}_key_id", table, ["key_id"])


def downgrade() -> None:
    for table in ("browser_sessions", "sign_in_links"):
        op.drop_table(table)
