"""Migrations: run only when the store's version differs from this program's."""

from __future__ import annotations

import os
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from livedata.model.errors import StoreUnavailable
from livedata.store.connections import make_engine
from livedata.store.version import VERSION, unavailable


def upgrade(url: str, found: str | None) -> None:
    """Bring the store at `url` from version `found` (None: there is none) to this program's.

    Raises StoreUnavailable for a version that this program does not know; the store is then
    untouched.
    """
    path = Path(url.removeprefix("sqlite:///"))
    known = {script.revision for script in ScriptDirectory.from_config(config()).walk_revisions()}
    if found is not None and found not in known:
        raise StoreUnavailable(
            f"The store at {path} was written by a newer livedata (version {found}; this one "
            f"knows {VERSION}). Upgrade livedata; the store was left as it is."
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if found is None and not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        # Batch migrations recreate tables, and a DROP would cascade: no foreign keys meanwhile.
        engine = make_engine(url, foreign_keys=False)
        with engine.begin() as connection:
            _apply(connection)
            broken = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
            if broken:
                raise StoreUnavailable(
                    f"Migrating {path} would break references; nothing was done."
                )
        engine.dispose()
    except (DBAPIError, OSError) as error:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
        raise unavailable(path, cause) from error


def config(connection: Connection | None = None) -> Config:
    """Alembic's configuration, all of it in code."""
    configuration = Config()
    configuration.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    configuration.attributes["connection"] = connection
    return configuration


def _apply(connection: Connection) -> None:
    command.upgrade(config(connection), "head")
