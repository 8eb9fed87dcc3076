"""Which version of the store's tables this program reads and writes, and what a store has."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from livedata.model.errors import StoreUnavailable

VERSION = "0004"
"""The newest migration."""

BUSY_SECONDS = 30


def version_of(driver: sqlite3.Connection, path: Path) -> str | None:
    """The version of a store; None for an empty file.

    Raises StoreUnavailable for what is no store, or the database of another program.
    """
    try:
        found = driver.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise unavailable(path, error) from error
        if driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise StoreUnavailable(
                f"{path} is the database of another program; it was left as it is. Choose another "
                "file with LIVEDATA_DATABASE_URL."
            ) from error
        return None
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(f"{path} is not a livedata store: {error}.") from error
    return found[0] if found else None


def unavailable(path: Path, error: Exception) -> StoreUnavailable:
    """What to say where the database itself refuses."""
    return StoreUnavailable(
        f"The store at {path} cannot be used: {error}. Check that its folder exists, can be "
        "written, has free space, and that no other program keeps it locked."
    )
