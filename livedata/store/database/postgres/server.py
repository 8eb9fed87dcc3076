"""A PostgreSQL server: connections, transactions, migrations, and what it cannot do."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import Connection, ConnectionInfo
from psycopg.conninfo import conninfo_to_dict

from livedata.model.errors import Invalid, StoreUnavailable
from livedata.store.database.backend import AlreadyThere, Calls, Row
from livedata.store.database.postgres import words
from livedata.store.database.postgres.transaction import (
    CLOCK,
    TABLES,
    PostgresTransaction,
    ServerLine,
)

if TYPE_CHECKING:
    import sqlalchemy

OLDEST = 14
"""The oldest server: what is older gets no security fixes."""
LOCK_SECONDS = 10
"""How long a transaction waits for the lock of another one; as a file of SQLite does."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
# A process that stands still with locks must not stop everybody who waits for them. A reader has
# none: an export into a pipe may take its time. All is asked in one statement, with the time.
_LIMITS = (
    "SELECT set_config('idle_in_transaction_session_timeout', '60s', true), "
    f"set_config('lock_timeout', '{{}}s', true), {CLOCK}"
)
# No other errors: those are mistakes in the code, and to report them as a store out of order would
# hide them.
_UNAVAILABLE = (
    *(psycopg.OperationalError, psycopg.InternalError),
    *(psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidSqlStatementName),
    psycopg.errors.DuplicatePreparedStatement,
)
_UNDEFINED = (
    *(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedObject),
    psycopg.errors.UndefinedFunction,
)
_MIGRATION_LOCK = 0x6C69766564617461
"""The number of the advisory lock under which one process migrates: "livedata" as bytes."""
_ONE_AT_A_TIME = f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"
SCHEMA = Path(__file__).with_name("schema.sql")


# It warns of what follows from the first error, which is raised.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class Postgres:
    """A store on a server, shared by processes of many machines."""

    def __init__(self, url: str) -> None:
        self._parameters = _parameters(url)
        self._idle: list[ServerLine] = []

    @property
    def place(self) -> str:
        """The URL without its password."""
        known = self._parameters
        user = f"{known['user']}@" if "user" in known else ""
        host, port = str(known.get("host", "")), f":{known['port']}" if "port" in known else ""
        folder = f"?host={host}" if host.startswith("/") else ""
        return (
            f"postgresql://{user}{'' if folder else host}{port}/{known.get('dbname', '')}{folder}"
        )

    @property
    def remote(self) -> bool:
        """A server may stand still, and a network be cut."""
        return True

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """A transaction that sees the store as it is at its start."""
        # READ COMMITTED would show each question another state: a page of the feed and its head
        # must agree. It only reads, so it never fails on what others write.
        with self._transaction(_READ, reading=True) as line:
            yield PostgresTransaction(line)

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """A transaction that writes: others may write too, but not what it has locked."""
        with self._transaction(_WRITE) as line:
            clock = line.later(_LIMITS.format(LOCK_SECONDS))
            writer = PostgresTransaction(line, clock)
            yield writer
            writer.call_workers()
            line.commit()

    def make(self, version: str) -> str:
        """Make the tables of a store, in one process at a time. Its version then."""
        try:
            with self._transaction("BEGIN") as line:
                line.ask(_ONE_AT_A_TIME)
                if (made := self._version(PostgresTransaction(line))) is None:
                    driver = line.outside_pipelines()
                    driver.execute(SCHEMA.read_text(encoding="utf-8"))
                    driver.execute("INSERT INTO alembic_version VALUES (%s)", (version,))
                line.commit()
        except psycopg.Error as error:
            raise self._unavailable(error) from error
        return made or version

    @contextmanager
    def migrating(self) -> Iterator[sqlalchemy.Connection]:
        """A transaction for migrations, in one process at a time."""
        from sqlalchemy import NullPool, create_engine
        from sqlalchemy.exc import DBAPIError

        engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._connect(autocommit=False),
            poolclass=NullPool,
        )
        try:
            with engine.begin() as connection:
                # Whoever waits here finds the store up to date then. A process that is killed
                # leaves neither a lock nor half of the tables.
                connection.exec_driver_sql(_ONE_AT_A_TIME)
                # Whoever begins or ends a Run has looked at the version, and is waited for.
                if connection.exec_driver_sql("SELECT to_regclass('runs')").scalar() is not None:
                    connection.exec_driver_sql("LOCK TABLE runs IN EXCLUSIVE MODE")
                yield connection
        except DBAPIError as error:
            raise self._unavailable(error.orig or error) from error

    def version(self) -> str | None:
        """The version of the store; None for a database without tables.

        Raises StoreUnavailable for the database of another program.
        """
        with self.reading() as reader:
            return self._version(reader)

    def _version(self, reader: PostgresTransaction) -> str | None:
        # One question for all names: between two, another process may have made the tables.
        tables = {name for (name,) in reader.rows(TABLES)}
        if "alembic_version" in tables:
            version: str | None = reader.value("SELECT version_num FROM alembic_version")
            return version
        if tables:
            raise StoreUnavailable(words.of_another_program(self.place))
        return None

    def copy(self, _file: Path, name: Path) -> None:
        """Raise Invalid: the server has a program of its own for that."""
        raise Invalid(words.copied_by_pg_dump(self.place, name))

    def calls(self) -> Calls:
        """What calls a crawl worker to the queue."""
        # asyncio is worth its import only where calls are heard.
        from livedata.store.database.postgres.listener import Listener

        return Listener(self._parameters)

    def writes(self) -> None:
        """Not known: a worker is called instead."""

    def shrink(self) -> None:
        """Nothing: the server does so by itself."""

    def close(self) -> None:
        """Let go of every connection."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: str, *, reading: bool = False) -> Iterator[ServerLine]:
        """A connection that nobody else uses meanwhile; its errors become ours."""
        try:
            line = self._line()
            try:
                # With the first question: whoever asks nothing waits for nothing.
                line.say(begin, prepare=False)
                yield line
            finally:
                self._put_back(line, reading=reading)
        except psycopg.errors.UniqueViolation as error:
            raise AlreadyThere(str(error)) from error
        except _UNAVAILABLE as error:
            raise self._unavailable(error) from error
        except _UNDEFINED as error:
            # A function that is missing would be a mistake in the code. A table is missing if
            # somebody has dropped it, or a restore has ended in the middle.
            if not isinstance(error, psycopg.errors.UndefinedTable):
                raise
            text = error.diag.message_primary or str(error)
            raise StoreUnavailable(words.without_table(self.place, text)) from error

    def _line(self) -> ServerLine:
        """A connection that is idle, or a new one."""
        try:
            line = self._idle.pop()
        except IndexError:
            return ServerLine(self._connect())
        line.renew = self._connect
        return line

    def _put_back(self, line: ServerLine, *, reading: bool) -> None:
        """Keep a connection for the next transaction, if it can still be used."""
        try:
            line.end(reading=reading)
        except BaseException as error:
            # Whatever was wrong with it, the next transaction gets another.
            line.close()
            if not isinstance(error, psycopg.Error):
                raise
        if not line.driver.closed:
            self._idle.append(line)

    def _connect(self, *, autocommit: bool = True) -> Connection[Row]:
        # autocommit: psycopg begins no transaction by itself, which would be of another kind.
        try:
            driver: Connection[Row] = Connection.connect(**self._parameters, autocommit=autocommit)
        except psycopg.ProgrammingError as error:
            # A parameter of the URL; later it would be a mistake in the code.
            raise self._unavailable(error) from error
        if problem := self._problem(driver.info):
            driver.close()
            raise StoreUnavailable(problem)
        if autocommit:
            driver.execute(_PLAIN, prepare=False)
        return driver

    def _problem(self, server: ConnectionInfo) -> str | None:
        """Why a server cannot have the store, as a sentence; None if it can."""
        # All of this comes with the connection: nothing is asked for it.
        if server.server_version < OLDEST * 10_000:
            version = server.parameter_status("server_version")
            return words.too_old(self.place, str(version), OLDEST)
        encoding = server.parameter_status("server_encoding")
        if encoding != "UTF8":
            return words.of_another_encoding(self.place, str(encoding))
        return None

    def _unavailable(self, error: BaseException) -> StoreUnavailable:
        if not isinstance(error, psycopg.Error):
            return StoreUnavailable(words.failure(self.place, None, str(error)))
        # The primary message only: the others quote the statement and its values.
        text = error.diag.message_primary or str(error)
        return StoreUnavailable(words.failure(self.place, error.sqlstate, text))


# Whoever asks wants a few rows of very many: to start other processes for that, or to compile it,
# takes a tenth of a second. Not by the parameters: some poolers refuse those that they do not know.
_PLAIN = "SET max_parallel_workers_per_gather = 0; SET jit = off"


def _parameters(url: str) -> dict[str, Any]:
    """What a URL says of a connection, and what it need not say. Raises StoreUnavailable."""
    prefix = url.partition("://")[0] + "://"
    try:
        given = dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise StoreUnavailable(words.unreadable_url(prefix)) from None
    # A password with / or @ in it is taken apart in a wrong way, and would stand in messages.
    ports = str(given.get("port", "1")).split(",")
    names = f"{given.get('host', '')}{given.get('dbname', '')}"
    if "@" in names or not all(port.isdecimal() for port in ports):
        raise StoreUnavailable(words.unreadable_url(prefix))
    return {
        # A server that accepts and never answers is given up; so is one that is gone from the
        # network, after some 10 seconds, while an answer is waited for.
        "connect_timeout": 5,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 3,
        "tcp_user_timeout": 10_000,
        "fallback_application_name": "livedata",
        **given,
        "client_encoding": "utf8",
    }
