"""SQLite: everything that only this database does.

A write transaction takes the one write lock at its start. If it read first and wrote later, it
would fail on a stale snapshot, however long it waited.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livedata.model.errors import StoreUnavailable
from livedata.store.database.backend import AlreadyThere, Row

if TYPE_CHECKING:
    from sqlalchemy import Connection

PREFIX = "sqlite:///"
BUSY_SECONDS = 30
_NOT_UNIQUE = frozenset({sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY})


class SqliteTransaction:
    """A transaction on one connection: a Reader, and a Writer if the connection may write."""

    __slots__ = ("_driver",)

    def __init__(self, driver: sqlite3.Connection) -> None:
        self._driver = driver

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        return self._driver.execute(sql, values).fetchall()

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        return self._driver.execute(sql, values)

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        found: Row | None = self._driver.execute(sql, values).fetchone()
        return found

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first."""
        found = self._driver.execute(sql, values).fetchone()
        return None if found is None else found[0]

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The row that `sql` selects: the whole file is locked since the transaction began."""
        return self.row(sql, **values)

    def execute(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""
        return self._driver.execute(sql, values).rowcount

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`."""
        self._driver.executemany(sql, rows)

    def damage(self) -> list[str]:
        """What SQLite finds wrong with the file."""
        try:
            found = [row[0] for row in self.each("PRAGMA integrity_check") if row[0] != "ok"]
        except sqlite3.DatabaseError as error:
            found = [str(error)]
        return [f"The file of the store is damaged: {text}." for text in found]

    def dangling(self) -> list[str]:
        """The references that lead nowhere."""
        return [
            f"Row {rowid} of the table {table} refers to nothing in {parent}."
            for table, rowid, parent, _ in self.each("PRAGMA foreign_key_check")
        ]


class Sqlite:
    """A store in one file, shared by processes of one machine."""

    def __init__(self, url: str) -> None:
        self.path = Path(url.removeprefix(PREFIX))
        self._readers: list[sqlite3.Connection] = []
        self._writers: list[sqlite3.Connection] = []

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @contextmanager
    def reading(self) -> Iterator[SqliteTransaction]:
        """A transaction that sees the store as it is at its start."""
        with self._connection(self._readers, self._connect_to_read) as driver:
            driver.execute("BEGIN DEFERRED")
            try:
                yield SqliteTransaction(driver)
            finally:
                driver.rollback()

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """A transaction that keeps every other writer out."""
        with self._connection(self._writers, self._connect_to_write) as driver:
            driver.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(driver)
                driver.execute("COMMIT")
            except BaseException:
                driver.rollback()
                raise

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for migrations; the file is made if there is none, for its owner only."""
        from sqlalchemy import NullPool, create_engine, event
        from sqlalchemy.exc import DBAPIError

        engine = create_engine(PREFIX, creator=self._connect_to_migrate, poolclass=NullPool)
        event.listen(engine, "begin", lambda begun: begun.exec_driver_sql("BEGIN IMMEDIATE"))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            with engine.begin() as connection:
                yield connection
                if connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
                    raise StoreUnavailable(
                        f"Migrating {self.path} would break references; nothing was done."
                    )
        except (DBAPIError, OSError) as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig else error
            raise self._unavailable(cause) from error

    def version(self) -> str | None:
        """The version of the store; None if there is no file, or an empty one.

        Raises StoreUnavailable for what is no store, or the database of another program.
        """
        if not self.path.exists():
            return None
        with self._connection([], self._connect_to_read) as driver:
            try:
                return self._version(driver)
            finally:
                driver.close()

    def close(self) -> None:
        """Let go of every connection."""
        for idle in (self._readers, self._writers):
            while idle:
                idle.pop().close()

    @contextmanager
    def _connection(
        self, idle: list[sqlite3.Connection], connect: Callable[[], sqlite3.Connection]
    ) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile; its errors become ours."""
        try:
            try:
                driver = idle.pop()
            except IndexError:  # asked and not counted first, since threads share the list
                driver = connect()
            try:
                yield driver
            finally:
                idle.append(driver)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in _NOT_UNIQUE:
                raise AlreadyThere(str(error)) from error
            raise
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:  # a damaged file says so with this very class
            raise self._unavailable(error) from error

    def _connect_to_read(self) -> sqlite3.Connection:
        driver = self._connect()
        driver.execute("PRAGMA query_only=ON")
        return driver

    def _connect_to_write(self) -> sqlite3.Connection:
        driver = self._connect()
        driver.execute("PRAGMA journal_mode=WAL")
        # What was promised must survive a power cut.
        driver.execute("PRAGMA synchronous=FULL")
        driver.execute("PRAGMA foreign_keys=ON")
        return driver

    def _connect_to_migrate(self) -> sqlite3.Connection:
        driver = self._connect_to_write()
        # Migrations recreate tables, and a DROP would cascade.
        driver.execute("PRAGMA foreign_keys=OFF")
        return driver

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )

    def _version(self, driver: sqlite3.Connection) -> str | None:
        try:
            found = driver.execute("SELECT version_num FROM alembic_version").fetchone()
        except sqlite3.OperationalError as error:
            if "no such table" not in str(error):
                raise
            if driver.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                raise StoreUnavailable(
                    f"{self.path} is the database of another program; it was left as it is. Choose "
                    "another file with LIVEDATA_DATABASE_URL."
                ) from error
            return None
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(f"{self.path} is not a livedata store: {error}.") from error
        return found[0] if found else None

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        return StoreUnavailable(
            f"The store at {self.path} cannot be used: {error}. Check that its folder exists, can "
            "be written, has free space, and that no other program keeps it locked."
        )


@contextmanager
def plain_file(path: Path) -> Iterator[SqliteTransaction]:
    """A transaction on a file that is no store, such as an export; it makes the file."""
    with closing(sqlite3.connect(path)) as driver, driver:
        yield SqliteTransaction(driver)
