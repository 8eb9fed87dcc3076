"""Run migrations on the connection that is handed in, within its transaction."""

from __future__ import annotations

from alembic import context

from livedata.store.database.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    transactional_ddl=True,
)
context.run_migrations()
