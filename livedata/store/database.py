"""The store as it is asked: the database's own driver, and nothing heavier.

Listings and the change feed start at once because a question is SQL text over the driver; what
writes goes through :mod:`livedata.store.engine` and SQLAlchemy.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from livedata.model.errors import StoreUnavailable

VERSION = "0001"
"""The newest migration: what this version of livedata reads and writes."""

BUSY_SECONDS = 30

Row = tuple[Any, ...]


class Reader:
    """SQL text and named parameters in, tuples out; all within one transaction."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        return self._driver.execute(sql, values).fetchall()

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one, for what need not fit into memory."""
        return self._driver.execute(sql, values)

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        found: Row | None = self._driver.execute(sql, values).fetchone()
        return found

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first; None where there is none."""
        found = self.row(sql, **values)
        return None if found is None else found[0]


class Database:
    """A store that can be asked. `url` is an SQLAlchemy URL, ``sqlite:///`` and a path, say."""

    def __init__(self, url: str) -> None:
        if not url.startswith("sqlite:///"):
            raise StoreUnavailable(
                f"The database URL {url.split(':', 1)[0]}:… is not supported by this installation; "
                "use sqlite:/// and the path of a file."
            )
        self.url = url
        self.path = Path(url.removeprefix("sqlite:///"))
        self._idle: list[sqlite3.Connection] = []
        self._current = False

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """One read transaction. Raises StoreUnavailable where the store cannot be reached."""
        self.ensure()
        try:
            driver = self._idle.pop() if self._idle else self._connect()
            try:
                driver.execute("BEGIN DEFERRED")
                try:
                    yield Reader(driver)
                finally:
                    driver.execute("ROLLBACK")
            finally:
                self._idle.append(driver)
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:  # a damaged file says so with this very class
            raise unavailable(self.path, error) from error

    def ensure(self) -> None:
        """Make the store, or bring an old one up to date; a newer one is refused untouched."""
        if self._current:
            return
        found = self._version()
        if found != VERSION:
            # Alembic and SQLAlchemy are worth their import only here, once per store and version.
            from livedata.store.migrate import upgrade

            upgrade(self.url, found)
        self._current = True

    def close(self) -> None:
        """Let go of every connection."""
        while self._idle:
            self._idle.pop().close()

    def _version(self) -> str | None:
        if not self.path.exists():
            return None
        try:
            driver = self._connect()
            try:
                found = driver.execute("SELECT version_num FROM alembic_version").fetchone()
            finally:
                driver.close()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return None
            raise unavailable(self.path, error) from error
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{self.path} is not a livedata store: {error}.") from error
        return found[0] if found else None

    def _connect(self) -> sqlite3.Connection:
        driver = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        driver.execute("PRAGMA query_only=ON")
        return driver


def unavailable(path: Path, error: Exception) -> StoreUnavailable:
    """What to say where the database itself refuses."""
    return StoreUnavailable(
        f"The store at {path} cannot be used: {error}. Check that its folder exists, can be "
        "written, has free space, and that no other program keeps it locked."
    )
