"""A file of SQLite: connections, transactions, migrations, copies, and what it cannot do."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from livedata.model.errors import StoreUnavailable
from livedata.store.database.backend import AlreadyThere, NoCalls
from livedata.store.database.sqlite.transaction import WITHOUT_KEY, SqliteTransaction, without_key

if TYPE_CHECKING:
    from sqlalchemy import Connection

PREFIX = "sqlite:///"
SCHEMA = Path(__file__).with_name("schema.sql")
# SQLite keeps no queue of those who wait for its lock: one may lose many turns (0.3 s was seen with
# three other writers), so the limit is far above what one transaction takes. It is a third of the
# silence at most after which a supervisor takes a crawl worker for stuck.
BUSY_SECONDS = 10
_NOT_WRITTEN = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_IOERR_WRITE: errno.EIO}
_NOT_UNIQUE = frozenset({sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY})
_MALFORMED = b"malformed database schema"
_ADVICE: Mapping[int | None, str] = {
    sqlite3.SQLITE_BUSY: "Try again; if it stays so, end the program that keeps it locked",
    sqlite3.SQLITE_READONLY: "Give your user the right to write it, and in its folder",
    sqlite3.SQLITE_FULL: "Make room on its disk, then try again",
    sqlite3.SQLITE_IOERR: "Check that its disk has free space, then that it is sound",
    **dict.fromkeys(
        (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR),
        "Restore it from a backup",
    ),
}
"""What SQLite says by its code -> what to do."""


def _kind(error: BaseException) -> int | None:
    # Errors of the module itself have no code. The lowest byte is the kind, the rest the case.
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _is_wrong(error: sqlite3.OperationalError) -> bool:
    return getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_ERROR


class Sqlite:
    """A store in one file, shared by processes of one machine."""

    def __init__(self, url: str) -> None:
        self.path = Path(url.removeprefix(PREFIX))
        # Readers have connections of their own: a mistake in a question can then write nothing.
        self._readers: list[sqlite3.Connection] = []
        self._writers: list[sqlite3.Connection] = []
        self._watchers: list[sqlite3.Connection] = []

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.path)

    @property
    def remote(self) -> bool:
        """A question to a file waits for nobody."""
        return False

    @contextmanager
    def reading(self, *, by_replica: bool = False) -> Iterator[SqliteTransaction]:  # noqa: ARG002
        """A transaction that sees the store as it is at its start; a file has no replica."""
        with self._connection(self._readers, self._connect_to_read) as driver:
            # It takes no lock, so readers and the writer never wait for each other. The first
            # question fixes what all later ones see: a page of the feed and its head must agree.
            driver.execute("BEGIN DEFERRED")
            try:
                yield SqliteTransaction(driver)
            finally:
                # A snapshot that stays open keeps the -wal file from being cut back.
                driver.rollback()

    def replica_problem(self) -> None:
        """None: a file has no replica."""

    @contextmanager
    def writing(self) -> Iterator[SqliteTransaction]:
        """A transaction that keeps every other writer out."""
        with self._connection(self._writers, self._connect_to_write) as driver:
            # The one write lock is taken here and not at the first write: a transaction that reads
            # first would fail on its stale snapshot at once, without waiting for BUSY_SECONDS.
            driver.execute("BEGIN IMMEDIATE")
            try:
                yield SqliteTransaction(driver)
                # A full disk may make SQLite roll back by itself. Then this statement fails;
                # commit() of the module would do nothing, and nobody would know.
                driver.execute("COMMIT")
            except BaseException:
                # For the same reason this is no statement: rollback() allows that nothing is open.
                driver.rollback()
                raise

    def make(self, version: str) -> str:
        """Make the tables of a store; the file is for its owner only. Its version then."""
        try:
            self._make_file()
        except OSError as error:
            raise self._unavailable(error) from error
        with self.writing() as writer:
            if (made := self._version(writer)) is not None:
                return made
            for statement in SCHEMA.read_text(encoding="utf-8").split(";\n"):
                writer.execute(statement)
            writer.execute("INSERT INTO alembic_version VALUES (:version)", version=version)
        return version

    def _make_file(self) -> None:
        # For its owner only: whole tables stand in it. Those above it may be for others too.
        self.path.parent.parent.mkdir(parents=True, exist_ok=True)
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        if not self.path.exists():
            # SQLite would let everybody on the machine read it. -wal and -shm get its mode.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
        """A transaction for migrations."""
        from sqlalchemy import NullPool, create_engine, event
        from sqlalchemy.exc import DBAPIError

        engine = create_engine(PREFIX, creator=self._connect_to_migrate, poolclass=NullPool)
        # SQLAlchemy leaves the BEGIN to the driver, which here begins nothing by itself. Of two
        # processes that find an old store, the second waits and then finds it up to date.
        event.listen(engine, "begin", lambda begun: begun.exec_driver_sql("BEGIN IMMEDIATE"))
        try:
            with engine.begin() as connection:
                yield connection
                # Before the commit, because the keys were off while tables were made anew.
                if connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
                    raise StoreUnavailable(
                        f"Migrating {self.path} would break references; nothing was done."
                    )
        except DBAPIError as error:
            raise self._unavailable(error.orig or error) from error

    def version(self) -> str | None:
        """The version of the store; None if there is no file, or an empty one.

        Raises StoreUnavailable for what is no store, or the database of another program, and for a
        folder that may not be read.
        """
        try:
            if not self.path.exists():
                return None
        except OSError as error:
            raise self._unavailable(error) from error
        # Closed and not kept for readers: this may be the database of another program.
        with self._connection([], self._connect_to_read) as driver:
            try:
                return self._version(SqliteTransaction(driver))
            finally:
                driver.close()

    def copy(self, file: Path, _name: Path) -> None:
        """Write the store of this moment into an empty file, also while others write."""
        # Not by the backup API: it begins again whenever another process has written.
        with self._connection([], self._connect) as driver, closing(driver):
            try:
                driver.execute("VACUUM INTO ?", (str(file),))
            except sqlite3.OperationalError as error:
                # It is the copy that cannot be written: nothing is wrong with the store.
                if (cause := _NOT_WRITTEN.get(error.sqlite_errorcode)) is None:
                    raise
                raise OSError(cause, os.strerror(cause), str(file)) from error

    def calls(self) -> NoCalls:
        """None: crawl workers look at the file."""
        return NoCalls()

    def writes(self) -> int:
        """A number that stays the same until somebody writes."""
        # Always of one connection: the number tells what others have done since it was opened.
        with self._connection(self._watchers, self._connect_to_read) as driver:
            writes: int = driver.execute("PRAGMA data_version").fetchone()[0]
        return writes

    def shrink(self) -> None:
        """Cut the -wal file back: under readers that never all pause it only grows."""
        with self._connection([], self._connect_to_write) as driver, closing(driver):
            # Nobody is waited for, and whoever begins meanwhile would wait: it says in its answer
            # that it was busy, and the next one comes in an hour.
            driver.execute("PRAGMA busy_timeout=0")
            driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Let go of every connection."""
        for idle in (self._readers, self._writers, self._watchers):
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
            except IndexError:
                # Asked and not counted first: another thread could take the last one in between.
                driver = connect()
            try:
                yield driver
            finally:
                idle.append(driver)
        except sqlite3.IntegrityError as error:
            if error.sqlite_errorcode in _NOT_UNIQUE:
                raise AlreadyThere(str(error)) from error
            raise
        except UnicodeDecodeError as error:
            # SQLite quotes the schema that it cannot read, and sqlite3 cannot read the quotation.
            if not error.object.startswith(_MALFORMED):
                raise
            malformed = sqlite3.DatabaseError(_MALFORMED.decode())
            malformed.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
            raise self._unavailable(malformed) from error
        except sqlite3.ProgrammingError:
            # A mistake in the code: to report it as a store out of order would hide it.
            raise
        except sqlite3.OperationalError as error:
            # SQLite keeps bytes that are no UTF-8 as text; only reading it finds out.
            if "Could not decode to UTF-8" in str(error):
                raise ValueError("text that is no UTF-8") from error
            # A statement that SQLite refuses as wrong is right for the tables that we make.
            misshapen = _is_wrong(error) and self._without_key()
            raise StoreUnavailable(misshapen) if misshapen else self._unavailable(error) from error
        except sqlite3.DatabaseError as error:
            # Not only OperationalError, which is locked or full: a damaged file has this class.
            raise self._unavailable(error) from error

    def _connect_to_read(self) -> sqlite3.Connection:
        # Not opened with mode=ro: a reader of a WAL must write its -shm file.
        return self._connect("query_only=ON")

    def _connect_to_write(self, *pragmas: str) -> sqlite3.Connection:
        return self._connect(
            # Readers go on while a Run is written. The file remembers it, so readers need not say
            # it.
            "journal_mode=WAL",
            # What was promised must survive a power cut: NORMAL lost a commit in 181 of 325
            # trials. FULL costs 0.2 ms a commit.
            "synchronous=FULL",
            # SQLite checks references only on connections that ask for it.
            "foreign_keys=ON",
            *pragmas,
        )

    def _connect_to_migrate(self) -> sqlite3.Connection:
        # Migrations recreate tables, and a DROP would cascade. Within a transaction this PRAGMA
        # does nothing, so it stands here.
        return self._connect_to_write("foreign_keys=OFF")

    def _connect(self, *pragmas: str) -> sqlite3.Connection:
        # isolation_level=None: the module begins no transaction by itself (its own are deferred).
        # check_same_thread: threads of a server share connections, but one at a time has each.
        driver = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            for pragma in pragmas:
                driver.execute(f"PRAGMA {pragma}")
        except sqlite3.Error:
            # A locked or damaged file fails the first of them; nobody else knows the connection.
            driver.close()
            raise
        return driver

    def _version(self, reader: SqliteTransaction) -> str | None:
        # A store that was migrated down to nothing has the table without a row.
        try:
            version: str | None = reader.value("SELECT version_num FROM alembic_version")
        except sqlite3.OperationalError as error:
            # SQLite has one error code for every mistake in SQL; only the text tells them apart.
            if "no such table" not in str(error):
                raise
            if reader.value("SELECT count(*) FROM sqlite_master"):
                raise StoreUnavailable(
                    f"{self.path} is the database of another program; it was left as it is. Choose "
                    "another file with LIVEDATA_DATABASE_URL."
                ) from error
            return None
        except sqlite3.DatabaseError as error:
            raise StoreUnavailable(
                f"{self.path} is not a livedata store: {error}. If it was one, restore it from a "
                "backup; else choose another file with LIVEDATA_DATABASE_URL."
            ) from error
        return version

    def _without_key(self) -> str | None:
        """The sentence for the first table that has lost its primary key."""
        with closing(self._connect("query_only=ON")) as driver:
            row = driver.execute(WITHOUT_KEY).fetchone()
        return without_key(row[0]) if row else None

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        advice = _ADVICE.get(_kind(error), "Check that its folder exists, and can be written")
        return StoreUnavailable(f"The store at {self.path} cannot be used: {error}. {advice}.")
