"""A PostgreSQL server: connections, transactions, migrations, and what it cannot do."""

from __future__ import annotations

import logging
import random
import time
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
FULL_SECONDS = 10.0
"""How long a server is asked again that has no connection left, or is starting."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""The seconds before it is asked again: twice as many each time, and any part of them."""
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
# Whoever asks wants a few rows of very many: to start other processes for that, or to compile it,
# takes a tenth of a second. Not by the parameters: some poolers refuse those that they do not know.
_PLAIN = (
    "SELECT set_config('max_parallel_workers_per_gather', '0', {0}), "
    "set_config('jit', 'off', {0}), pg_backend_pid()"
)
# A process that stands still with locks must not stop everybody who waits for them, nor a fire each
# minute. A reader has none: it may take its time. All is asked in one statement, with the time.
_LIMITS = (
    "SELECT set_config('idle_in_transaction_session_timeout', '30s', true), "
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
_WRITTEN = """
SELECT CAST(pg_current_wal_flush_lsn() AS text), system_identifier FROM pg_control_system()
"""
"""How far the primary server has written, and which it is."""
# One that was promoted, or that went another way than the primary server, receives nothing from it.
_FOLLOWS = """
SELECT system_identifier = %(system)s AND pg_is_in_recovery()
    AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver),
    pg_last_wal_replay_lsn() >= CAST(%(written)s AS pg_lsn)
FROM pg_control_system()
"""
"""Whether a server is a replica of that one, and whether it has all of that."""
BEHIND, PATIENT = 0.05, 2.0
"""So many seconds is waited for a replica that has not all yet: by a request, and to judge it."""
AGAIN = 2.0
"""The seconds for which a replica is not asked that was away, or behind for longer."""
SCHEMA = Path(__file__).with_name("schema.sql")


log = logging.getLogger("livedata.store")
# It warns of what follows from the first error, which is raised.
logging.getLogger("psycopg").setLevel(logging.ERROR)


class Postgres:
    """A store on a server, shared by processes of many machines."""

    def __init__(
        self, url: str, read_url: str = "", listen_url: str = "", wanted: str = "read-write"
    ) -> None:
        """The store at a URL; others name a replica of it, and where calls are heard."""
        self._parameters = _parameters(url, wanted)
        self._listen_url = listen_url
        self._replica = Replica(self, read_url) if read_url else None
        self._idle: list[ServerLine] = []
        self._pooled = False

    @property
    def place(self) -> str:
        """The URL without its password."""
        return words.place(self._parameters)

    @property
    def remote(self) -> bool:
        """A server may stand still, and a network be cut."""
        return True

    @contextmanager
    def reading(self, *, by_replica: bool = False) -> Iterator[PostgresTransaction]:
        """A transaction that sees the store as it is at its start; a replica may give it."""
        if by_replica and self._replica is not None:
            with self._replica.reading() as reader:
                yield reader
            return
        # READ COMMITTED would show each question another state: a page of the feed and its head
        # must agree. It only reads, so it never fails on what others write.
        with self._transaction(_READ, reading=True) as line:
            yield PostgresTransaction(line)

    def replica_problem(self) -> str | None:
        """Why the replica is not asked now, as a sentence; None if it is, or there is none."""
        return None if self._replica is None else self._replica.problem(PATIENT)

    def once(self, sql: str, **values: object) -> Row:
        """The one row that `sql` selects, outside of a transaction."""
        with self._transaction(reading=True) as line:
            row = line.ask(sql, values).fetchone()
        assert row is not None
        return row

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

        named = _parameters(self._listen_url, "any") if self._listen_url else None
        return Listener(named or self._parameters, is_named=named is not None)

    def writes(self) -> None:
        """Not known: a worker is called instead."""

    def shrink(self) -> None:
        """Nothing: the server does so by itself."""

    def close(self) -> None:
        """Let go of every connection."""
        while self._idle:
            self._idle.pop().close()
        if self._replica is not None:
            self._replica.close()

    @contextmanager
    def _transaction(self, begin: str = "", *, reading: bool = False) -> Iterator[ServerLine]:
        """A connection that nobody else uses meanwhile; its errors become ours."""
        try:
            line = self._line()
            try:
                # With the first question: whoever asks nothing waits for nothing.
                if begin:
                    line.say(begin, prepare=False)
                if begin and self._pooled:
                    line.say(_PLAIN.format("true"), prepare=False)
                yield line
            except psycopg.errors.ReadOnlySqlTransaction:
                # The server became a replica under this connection: the next one finds another.
                line.close()
                raise
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
            driver = self._connected()
        except psycopg.ProgrammingError as error:
            # A parameter of the URL; later it would be a mistake in the code.
            raise self._unavailable(error) from error
        if problem := self._problem(driver.info):
            driver.close()
            raise StoreUnavailable(problem)
        # The process that answers is another than the one that the connection was made with, if a
        # pooler stands between. It may be another one for each transaction, so nothing is kept
        # there for the next: neither settings nor prepared statements.
        made_with = driver.info.backend_pid
        plain = _PLAIN.format(f"{not autocommit} OR pg_backend_pid() <> {made_with}")
        *_, answers = driver.execute(plain, prepare=False).fetchone() or (made_with,)
        self._pooled = answers != made_with
        if self._pooled:
            driver.prepare_threshold = None
        driver.autocommit = autocommit
        return driver

    def _connected(self) -> Connection[Row]:
        """A new connection; a server that is full or starting is asked again for a while."""
        end, pause = time.monotonic() + FULL_SECONDS, FIRST_PAUSE
        while True:
            try:
                return Connection.connect(**self._parameters, autocommit=True)
            except psycopg.OperationalError as error:
                if not words.passes(str(error)) or time.monotonic() > end:
                    raise
            # All who were cut off by a restart come at once: each comes back at another time.
            time.sleep(random.uniform(0, pause))  # noqa: S311  (no secret)
            pause = min(LONGEST_PAUSE, pause * 2)

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


class Replica:
    """A streaming replica that is asked in place of its primary server, if it has all of that.

    So nobody is shown what is older than what they, or anybody, have seen or written.
    """

    def __init__(self, primary: Postgres, url: str) -> None:
        self._primary = primary
        self._server = Postgres(url, wanted="prefer-standby")
        self._trouble: str | None = None
        self._next_try = 0.0

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """A transaction there, or else at the primary server."""
        chosen = self._server if self._may_be_asked() else self._primary
        with chosen.reading() as reader:
            yield reader

    def close(self) -> None:
        """Let go of every connection."""
        self._server.close()

    def problem(self, patience: float) -> str | None:
        """Why it is not asked, as a sentence; None if it has all that is written by then."""
        # Asked outside of the transaction that follows: one sees nothing that comes after its first
        # question, of which this would be a part.
        written, system = self._primary.once(_WRITTEN)
        end = time.monotonic() + patience
        while True:
            try:
                follows, has_all = self._server.once(_FOLLOWS, written=written, system=system)
            except StoreUnavailable as error:
                return error.message.replace("LIVEDATA_DATABASE_URL", "LIVEDATA_READ_URL")
            if not follows:
                self._server.close()  # of several in its URL, another one may be the replica now
                return words.no_replica(self._server.place)
            if has_all:
                return None
            if time.monotonic() > end:
                return words.behind(self._server.place)
            time.sleep(BEHIND / 10)

    def _may_be_asked(self) -> bool:
        now, before = time.monotonic(), self._trouble
        if now < self._next_try:
            return False
        if before is not None:
            # One request tries it, which may take seconds; others need not wait.
            self._next_try = now + AGAIN
        self._trouble = trouble = self.problem(BEHIND)
        if trouble is not None:
            self._next_try = time.monotonic() + AGAIN
        if trouble is not None and before is None:
            log.warning("%s", trouble, extra={"event": "replica.unavailable"})
        elif trouble is None and before is not None:
            again = words.asked_again(self._server.place)
            log.warning("%s", again, extra={"event": "replica.available"})
        return trouble is None


def _parameters(url: str, wanted: str) -> dict[str, Any]:
    """What a URL says of a connection, and what it need not say. Raises StoreUnavailable.

    Of several servers it is one of the kind that is `wanted`.
    """
    prefix = url.partition("://")[0] + "://"
    try:
        given = dict(conninfo_to_dict(url))
    except psycopg.ProgrammingError:
        raise StoreUnavailable(words.unreadable_url(prefix)) from None
    # A password with / or @ in it is taken apart in a wrong way, and would stand in messages.
    port, host = str(given.get("port", "1")), str(given.get("host", ""))
    # Of several hosts some may have no port.
    ports = port.replace(",", "") or "1"
    if "@" in f"{host}{given.get('dbname', '')}" or not ports.isdecimal():
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
        **({"target_session_attrs": wanted} if "," in host else {}),
        **given,
        "client_encoding": "utf8",
    }
