"""Somebody may look at a page in a browser, to make a table of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "looks",
        sa.Column("id", sa.LargeBinary, nullable=False),
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("wish", TEXT, nullable=False),
        sa.Column("seen", TEXT, nullable=True),
        sa.Column("chosen", TEXT, nullable=True),
        sa.Column("tried", TEXT, nullable=True),
        sa.Column("error", TEXT, nullable=True),
        sa.Column("far", TEXT, nullable=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("lease_owner", TEXT, nullable=True),
        sa.Column("lease_until", sa.BigInteger, nullable=True),
        sa.Column("lease_origin", sa.BigInteger, nullable=True),
        sa.Column("asked_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger, nullable=True),
        sa.Column("dataset_id", sa.LargeBinary, nullable=True),
        sa.ForeignKeyConstraint(["owner"], ["owners.name"], name=op.f("fk_looks_owner_owners")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_looks")),
    )
    is_open = sa.text("status IN ('queued', 'running')")
    op.create_index(
        "uq_looks_open",
        "looks",
        ["owner"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )


def downgrade() -> None:
    op.drop_table("looks")
