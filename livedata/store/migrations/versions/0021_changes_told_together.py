"""A notice may tell changes together, by a cron, and what it tells so is of several datasets."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from livedata.store.migrations.columns import TEXT

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("notices", sa.Column("digest", TEXT, nullable=True))
    op.add_column("notices", sa.Column("digest_at", sa.BigInteger(), nullable=True))
    op.add_column("notices", sa.Column("digest_zone", TEXT, nullable=True))
    fires = sa.text("digest_at IS NOT NULL")
    op.create_index(
        "ix_notices_digest_at",
        "notices",
        ["digest_at"],
        sqlite_where=fires,
        postgresql_where=fires,
    )
    op.add_column("notice_streams", sa.Column("digested", sa.BigInteger(), nullable=True))
    for table in ("notice_streams", "outbox"):
        # SQLite makes such a table anew; nothing refers to these.
        with op.batch_alter_table(table) as of_streams:
            of_streams.drop_constraint(f"fk_{table}_dataset_id_datasets", type_="foreignkey")


def downgrade() -> None:
    for table in ("outbox", "notice_streams"):
        op.execute(f"DELETE FROM {table} WHERE dataset_id = notice_id")  # noqa: S608  (our names)
        with op.batch_alter_table(table) as of_datasets:
            of_datasets.create_foreign_key(
                f"fk_{table}_dataset_id_datasets", "datasets", ["dataset_id"], ["id"]
            )
    op.drop_column("notice_streams", "digested")
    op.drop_index("ix_notices_digest_at", table_name="notices")
    for column in ("digest_zone", "digest_at", "digest"):
        op.drop_column("notices", column)
