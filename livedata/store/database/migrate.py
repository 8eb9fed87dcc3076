"""Migrations: run only when the store's version differs from this program's."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from livedata.store.database.backend import Backend, NewerStore
from livedata.store.database.table import VERSION

MIGRATIONS = Path(__file__).parents[1] / "migrations"


def upgrade(backend: Backend, version: str) -> None:
    """Bring a store from its `version` to this program's.

    Raises NewerStore for a version that this program does not know; the store is then
    untouched.
    """
    # Before a connection that may write is open: a newer store stays as it is, byte for byte.
    if version not in _known_versions():
        raise NewerStore(
            f"The store at {backend.place} was written by a newer livedata (version {version}; "
            f"this one knows {VERSION}). Upgrade livedata; the store was left as it is."
        )
    with backend.migrating() as connection:
        command.upgrade(config(connection), "head")


def _known_versions() -> set[str]:
    return {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}


def config(connection: Connection | None = None) -> Config:
    """Alembic's configuration, all of it in code."""
    # A file alembic.ini would have to be found, wherever the package is installed.
    configuration = Config()
    configuration.set_main_option("script_location", str(MIGRATIONS))
    configuration.attributes["connection"] = connection
    return configuration
