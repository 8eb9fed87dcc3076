"""Run migrations on the connection that is handed in, within its transaction."""

from __future__ import annotations

from alembic import context
from sqlalchemy import MetaData

from livedata.store.migrations.columns import NAMES

context.configure(
    connection=context.config.attributes["connection"],
    # Only for the names of constraints: migrations say themselves what they change.
    target_metadata=MetaData(naming_convention=NAMES),
    transactional_ddl=True,
)
context.run_migrations()
