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
from livedata.store.version import BUSY_SECONDS, VERSION, unavailable, version_of

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
            driver = self._take()
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

    def _take(self) -> sqlite3.Connection:
        try:
            return self._idle.pop()
        except IndexError:  # asked and not counted first, since threads share the list
            return self._connect()

    def _version(self) -> str | None:
        if not self.path.exists():
            return None
        try:
            driver = self._connect()
        except sqlite3.OperationalError as error:
            raise unavailable(self.path, error) from error
        try:
            return version_of(driver, self.path)
        finally:
            driver.close()

    def _connect(self) -> sqlite3.Connection:
        driver = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        driver.execute("PRAGMA query_only=ON")
        return driver
