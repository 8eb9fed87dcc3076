"""Fires that were skipped, with their reason; a next fire knows the time zone of its reckoning."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("datasets", sa.Column("next_run_zone", TEXT, nullable=True))
    op.create_table(
        "skipped_fires",
        sa.Column("dataset_id", sa.LargeBinary(), nullable=False),
        sa.Column("fired_at", sa.BigInteger(), nullable=False),
        sa.Column("reason", TEXT, nullable=False),
        sa.ForeignKeyConstraint(
            ["dataset_id"],
            ["datasets.id"],
            name=op.f("fk_skipped_fires_dataset_id_datasets"),
        ),
        sa.PrimaryKeyConstraint("dataset_id", "fired_at", name=op.f("pk_skipped_fires")),
    )


def downgrade() -> None:
    op.drop_table("skipped_fires")
    op.drop_column("datasets", "next_run_zone")
