"""Run migrations on the connection that is handed in, within its transaction."""

from __future__ import annotations

from alembic import context

from livedata.store.database.tables import metadata


def _is_ours(name: str | None, kind: str, _parents: object) -> bool:
    """Whether a table is of livedata: those of procrastinate stand beside them."""
    return kind != "table" or not str(name).startswith("procrastinate")


context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
    compare_type=True,
    include_name=_is_ours,
    transactional_ddl=True,
)
context.run_migrations()
