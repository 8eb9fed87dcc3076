"""What the research of each owner has used of a day, against the budgets of the operator."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "research_days",
        sa.Column("owner", TEXT, nullable=False),
        sa.Column("day", TEXT, nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("micro_usd", sa.BigInteger(), nullable=False),
        sa.Column("stopped", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["owner"], ["owners.name"], name=op.f("fk_research_days_owner_owners")
        ),
        sa.PrimaryKeyConstraint("owner", "day", name=op.f("pk_research_days")),
    )


def downgrade() -> None:
    op.drop_table("research_days")
