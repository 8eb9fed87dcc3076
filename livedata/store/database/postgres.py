"""PostgreSQL: everything that only this database does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from livedata.model.errors import Damaged, StoreUnavailable
from livedata.store.database import postgres_words as words
from livedata.store.database.backend import AlreadyThere, Row

if TYPE_CHECKING:
    from sqlalchemy import Connection

Driver = psycopg.Connection[Row]

OLDEST = 14
"""The oldest server: what is older gets no security fixes."""
LOCK_SECONDS = 10
"""How long a transaction waits for the lock of another one."""
# A process that stands still in a transaction must not stop everybody who waits for its locks.
_OPTIONS = f"-c lock_timeout={LOCK_SECONDS}s -c idle_in_transaction_session_timeout=60s"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED"
_PART = 500
"""How many rows of a long answer are fetched at once."""
_MIGRATION_LOCK = 0x6C69766564617461
"""The number of the advisory lock under which one process migrates: "livedata" as bytes."""
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
# Tables of the queue that wakes workers up may stand beside ours.
_TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace)
AND relkind IN ('r', 'p') AND relname NOT LIKE 'procrastinate%'
"""
_UNIQUE_INDEXES = """
SELECT t.relname, string_agg(CAST(a.attname AS text), ',' ORDER BY k.place)
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place)
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number
WHERE i.indisunique AND NOT i.indisprimary
AND t.relnamespace = CAST(current_schema() AS regnamespace) GROUP BY t.relname, i.indexrelid
"""
_REFERENCES = """
SELECT child.relname, a.attname, parent.relname, b.attname
FROM pg_constraint c JOIN pg_class child ON child.oid = c.conrelid
JOIN pg_class parent ON parent.oid = c.confrelid
JOIN pg_attribute a ON a.attrelid = child.oid AND a.attnum = c.conkey[1]
JOIN pg_attribute b ON b.attrelid = parent.oid AND b.attnum = c.confkey[1]
WHERE c.contype = 'f' AND c.connamespace = CAST(current_schema() AS regnamespace) ORDER BY 1, 2
"""


@lru_cache(maxsize=1024)
def _translated(sql: str) -> str:
    """The text with the parameters as psycopg writes them."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresTransaction:
    """A transaction on one connection: a Reader, and a Writer if it may write."""

    __slots__ = ("_answers", "_driver")

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._answers = count()

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        return self._driver.execute(_translated(sql), values).fetchall()

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        # psycopg fetches a whole answer at once; a cursor of the server gives it in parts. Nobody
        # closes it: it ends with the transaction, and a reader may stop anywhere.
        name = f"answer_{next(self._answers)}"
        declared = f"DECLARE {name} NO SCROLL CURSOR FOR {_translated(sql)}"
        self._driver.execute(declared, values, prepare=False)
        rows = _PART
        while rows == _PART:
            part = self._driver.execute(f"FETCH {_PART} FROM {name}", prepare=False).fetchall()
            rows = len(part)
            yield from part

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        return self._driver.execute(_translated(sql), values).fetchone()

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first."""
        row = self.row(sql, **values)
        return None if row is None else row[0]

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The row that `sql` selects, kept from every other writer."""
        # Who waited for the lock gets the row as its last writer left it. Weaker than FOR UPDATE:
        # what only refers to the row, such as a new entry of a ledger, need not wait.
        return self.row(f"{sql} FOR NO KEY UPDATE", **values)

    def execute(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""
        return self._driver.execute(_translated(sql), values).rowcount

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`."""
        # In one pipeline: the server is not waited for row by row.
        with self._driver.cursor() as cursor:
            cursor.executemany(_translated(sql), rows)

    def damage(self) -> list[str]:
        """Nothing: PostgreSQL checks its files itself when it reads them."""
        return []

    def unreadable(self) -> Iterator[Damaged]:
        """Nothing: PostgreSQL judges the text and the type of every value that it takes."""
        return iter(())

    def unique_indexes(self) -> list[Row]:
        """(table, columns) of every unique index but primary keys."""
        return self.rows(_UNIQUE_INDEXES)

    def dangling(self) -> list[str]:
        """The references that lead nowhere: somebody has turned their check off."""
        return [
            f"Row {place} of the table {table} refers to nothing in {parent}."
            for table, column, parent, key in self.rows(_REFERENCES)
            for (place,) in self.rows(
                f"SELECT CAST(c.ctid AS text) FROM {table} c LEFT JOIN {parent} p "  # noqa: S608
                f"ON p.{key} = c.{column} WHERE c.{column} IS NOT NULL AND p.{key} IS NULL"
            )
        ]


class Postgres:
    """A store on a server, shared by processes of many machines."""

    def __init__(self, url: str) -> None:
        self._parameters = _parameters(url)
        self._idle: list[Driver] = []

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

    @contextmanager
    def reading(self) -> Iterator[PostgresTransaction]:
        """A transaction that sees the store as it is at its start."""
        # READ COMMITTED would show each question another state: a page of the feed and its head
        # must agree. It only reads, so it never fails on what others write.
        with self._transaction(_READ) as driver:
            yield PostgresTransaction(driver)

    @contextmanager
    def writing(self) -> Iterator[PostgresTransaction]:
        """A transaction that writes: others may write too, but not what it has locked."""
        with self._transaction(_WRITE) as driver:
            yield PostgresTransaction(driver)
            # After a failed statement that somebody has caught, the server rolls back, and says so
            # without an error.
            end = driver.execute("COMMIT").statusmessage
            assert end == "COMMIT", f"a statement has failed, and the act went on: {end}"

    @contextmanager
    def migrating(self) -> Iterator[Connection]:
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
                connection.exec_driver_sql("SET LOCAL lock_timeout = 0")
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
                yield connection
        except DBAPIError as error:
            raise self._unavailable(error.orig or error) from error

    def version(self) -> str | None:
        """The version of the store; None for a database without tables.

        Raises StoreUnavailable for the database of another program.
        """
        with self.reading() as reader:
            # One question for all names: between two, another process may have made the tables.
            tables = {name for (name,) in reader.rows(_TABLES)}
            if "alembic_version" in tables:
                version: str | None = reader.value("SELECT version_num FROM alembic_version")
                return version
            if tables:
                raise StoreUnavailable(words.of_another_program(self.place))
        return None

    def close(self) -> None:
        """Let go of every connection."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Driver]:
        """A connection that nobody else uses meanwhile; its errors become ours."""
        try:
            driver = self._begun(begin)
            try:
                yield driver
            finally:
                self._put_back(driver)
        except psycopg.errors.UniqueViolation as error:
            raise AlreadyThere(str(error)) from error
        except psycopg.errors.InsufficientPrivilege as error:
            raise self._unavailable(error) from error
        except (psycopg.OperationalError, psycopg.InternalError) as error:
            # No other class: those are mistakes in the code, and to report them as a store out of
            # order would hide them.
            raise self._unavailable(error) from error

    def _begun(self, begin: str) -> Driver:
        """A connection in a transaction of its own."""
        try:
            driver = self._idle.pop()
        except IndexError:
            driver = self._connect()
        else:
            try:
                driver.execute(begin)
            except psycopg.OperationalError:
                # The server was started again since it was used last.
                driver.close()
                driver = self._connect()
            else:
                return driver
        driver.execute(begin)
        return driver

    def _put_back(self, driver: Driver) -> None:
        """Keep a connection for the next transaction, if it can still be used."""
        try:
            if driver.info.transaction_status is not TransactionStatus.IDLE:
                driver.execute("ROLLBACK")
        except psycopg.Error:
            driver.close()
        if not driver.closed:
            self._idle.append(driver)

    def _connect(self, *, autocommit: bool = True) -> Driver:
        # autocommit: psycopg begins no transaction by itself, which would be of another kind.
        driver = psycopg.connect(**self._parameters, autocommit=autocommit)
        if problem := self._problem(driver.info):
            driver.close()
            raise StoreUnavailable(problem)
        return driver

    def _problem(self, server: psycopg.ConnectionInfo) -> str | None:
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
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        return StoreUnavailable(words.failure(self.place, state, str(error)))


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
        # A server that accepts and never answers is given up.
        "connect_timeout": 5,
        "fallback_application_name": "livedata",
        "client_encoding": "utf8",
        **given,
        "options": f"{_OPTIONS} {given.get('options', '')}".rstrip(),
    }
