"""On PostgreSQL the tables of procrastinate, whose jobs call crawl workers of all machines."""

from __future__ import annotations

from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # Only there: a store in a file needs no driver of a server.
        from livedata.store.database.postgres.jobs import make_tables

        make_tables(connection.connection.driver_connection)


def downgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        from livedata.store.database.postgres.jobs import drop_tables

        drop_tables(connection.connection.driver_connection)
