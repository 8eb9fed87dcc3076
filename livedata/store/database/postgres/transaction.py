"""A transaction on one connection to PostgreSQL.

A network lies between, so what needs no answer waits for the next that does: both are sent at once,
and the server is waited for once. An act takes as many waits as it takes decisions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from msgspec import Struct
from psycopg import Connection, Cursor, Pipeline
from psycopg.generators import fetch_many
from psycopg.pq import TransactionStatus

from livedata.model.account import Limits
from livedata.model.errors import Damaged
from livedata.model.ids import Micros
from livedata.store.database import backend
from livedata.store.database.backend import Answer, Row

CHANNEL = "livedata_runs"
"""Where crawl workers are called; each call names the schema whose Runs are meant."""
_CALL = "SELECT pg_notify(%(channel)s, current_schema())"
_IF_WAITING = " WHERE EXISTS (SELECT 1 FROM runs WHERE status = 'queued' AND site = ANY(%(sites)s))"
PART = 500
"""How many rows of a long answer are fetched at once."""
_SIZES = """
SELECT coalesce(sum(size), 0), coalesce(max(size), 0)
FROM (SELECT octet_length(data) + coalesce(octet_length(overrides), 0) AS size
"""
CLOCK = "(extract(epoch FROM clock_timestamp()) * 1e6)::bigint"
"""The present moment of the server, as SQL."""
# now() of PostgreSQL is when the transaction began, and it may have waited for a lock.
_NOW = f"SELECT {CLOCK}"
FULL = 1000
"""So many statements wait at most for a question: an archive has millions."""
_BRIEFLY = """
WITH own AS ({}) SELECT *, set_config('idle_in_transaction_session_timeout', '5s', true) FROM own
"""
"""Half as long as others wait for a lock: who waits for one who stands still gets it in time."""
_LONG = 0.1
"""After so many seconds an answer has waited for somebody's lock, and its clock is old."""
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]\w*)")
# Those of procrastinate may stand beside ours: until version 0029 livedata made them.
TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = CAST(current_schema() AS regnamespace)
AND relkind IN ('r', 'p') AND relname NOT LIKE 'procrastinate%'
"""
"""The names of all tables of the schema."""
_SIZE = """
SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS bigint) FROM pg_class
WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'
"""
"""The bytes of all tables of the schema, with their indexes."""
_UNIQUE_INDEXES = """
SELECT t.relname, string_agg(CAST(a.attname AS text), ',' ORDER BY k.place)
FROM pg_index i JOIN pg_class t ON t.oid = i.indrelid
CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY AS k(number, place)
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number
WHERE i.indisunique AND NOT i.indisprimary
AND t.relnamespace = CAST(current_schema() AS regnamespace) GROUP BY t.relname, i.indexrelid
"""
"""(table, columns with commas between) of every unique index but primary keys."""
_REFERENCES = """
SELECT child.relname, a.attname, parent.relname, b.attname
FROM pg_constraint c JOIN pg_class child ON child.oid = c.conrelid
JOIN pg_class parent ON parent.oid = c.confrelid
JOIN pg_attribute a ON a.attrelid = child.oid AND a.attnum = c.conkey[1]
JOIN pg_attribute b ON b.attrelid = parent.oid AND b.attnum = c.confkey[1]
WHERE c.contype = 'f' AND c.connamespace = CAST(current_schema() AS regnamespace) ORDER BY 1, 2
"""
"""(table, column, table referred to, column there) of every reference."""
_DANGLING = """
SELECT CAST(c.ctid AS text) FROM {0} c LEFT JOIN {2} p ON p.{3} = c.{1}
WHERE c.{1} IS NOT NULL AND p.{3} IS NULL
"""
"""The places of the rows of a table whose reference leads nowhere."""


@lru_cache(maxsize=1024)
def _translated(sql: str) -> str:
    """The text with the parameters as psycopg writes them."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class _Said(Struct):
    """A statement that waits to be sent; a sequence of `values` is one statement for each."""

    sql: str
    values: Mapping[str, object] | Sequence[Mapping[str, object]] | None
    prepare: bool | None = None
    answer: _Answer | None = None


class _Answer:
    """What a question that was sent with others is answered."""

    __slots__ = ("_line", "came", "rows", "took")

    def __init__(self, line: ServerLine) -> None:
        self._line = line
        self.rows: list[Row] = []
        self.came: float | None = None
        self.took = 0.0

    def __call__(self) -> list[Row]:
        if self.came is None:
            self._line.send()
        return self.rows


class ServerLine:
    """A connection that one transaction uses at a time, and what waits to be said on it.

    `renew` makes another, in case the server was started again since this one was used last.
    """

    def __init__(self, driver: Connection[Row]) -> None:
        self.renew: Callable[[], Connection[Row]] | None = None
        self._unsent: list[_Said] = []
        self._waiting = 0
        self._use(driver)

    def _use(self, driver: Connection[Row]) -> None:
        self.driver = driver
        # Kept: each new cursor of psycopg learns anew how values are written and read, which
        # doubles what a statement costs.
        self._cursors = [driver.cursor()]
        self._pipeline: Pipeline | None = None
        self._opened = ExitStack()
        self._ends, self._failures = 0, 0
        self.failed = False
        """Whether a statement has failed since the transaction began."""

    def say(self, sql: str, values: Any = None, *, prepare: bool | None = None) -> None:
        """Say something before the next question."""
        self._unsent.append(_Said(sql, values, prepare))
        self._waiting += len(values) if isinstance(values, Sequence) else 1
        if self._waiting >= FULL:
            self.send()

    def later(self, sql: str, values: Any = None) -> _Answer:
        """Ask something together with the next question."""
        answer = _Answer(self)
        self._unsent.append(_Said(sql, values, None, answer))
        return answer

    def ask(self, sql: str, values: Any = None, *, prepare: bool | None = None) -> Cursor[Row]:
        """Ask something now."""
        self._unsent.append(_Said(sql, values, prepare))
        return self.send()

    def send(self) -> Cursor[Row]:
        """Say all that waits; the cursor with the answer to the last of it."""
        said, self._unsent, self._waiting = self._unsent, [], 0
        try:
            if said:
                self._say_all(said)
        except psycopg.OperationalError:
            # Nothing was done on this connection yet, unless it was begun for this.
            renew, self.renew = self.renew, None
            self.failed = True
            if renew is None or not self.driver.closed:
                raise
            self._leave()
            self._use(renew())
            self._say_all(said)
        except BaseException:
            self.failed = True
            raise
        return self._cursors[0]

    def outside_pipelines(self) -> Connection[Row]:
        """The connection for texts of several statements, which no pipeline takes."""
        self.send()
        self._leave()
        return self.driver

    def commit(self) -> None:
        """End the transaction with all that was written."""
        # What was sent with a COMMIT is not sent again on another connection.
        if self.renew is not None:
            self.send()
        # After a failed statement that somebody has caught, the server rolls back, and says so
        # without an error.
        if self.failed or self.ask("COMMIT", prepare=False).statusmessage != "COMMIT":
            raise RuntimeError("a statement has failed, and the act went on")

    def end(self, *, reading: bool) -> None:
        """End the transaction, if it still goes on, without what it wrote."""
        self._unsent, self._waiting = [], 0
        if self.failed:
            self._leave()
            self.failed = False
            # psycopg is to forget what it has prepared: the server has nothing that came behind the
            # failure. It hears a ROLLBACK outside of a pipeline, and each text of one only once.
            self._failures += 1
            self.driver.execute(f"ROLLBACK -- {self._failures}".encode(), prepare=False)
            return
        server = self.driver.pgconn
        if self._ends or server.transaction_status == TransactionStatus.IDLE:
            return
        if reading and server.transaction_status == TransactionStatus.INTRANS:
            self._end_unheard()
        else:
            self.ask("ROLLBACK", prepare=False)

    def close(self) -> None:
        """Let go of the connection; nobody waits for a server that may stand still."""
        self.driver.close()
        self._leave()

    def _end_unheard(self) -> None:
        """End a transaction that has only read: the answer is taken at the next."""
        # No ROLLBACK, after which psycopg forgets which statements the server has prepared.
        server = self.driver.pgconn
        if self._pipeline is None:
            server.send_query(b"COMMIT")
            self._ends = 1
        else:
            server.send_query_params(b"COMMIT", None)
            server.pipeline_sync()
            self._ends = 2
        if server.flush():
            self._take_end()

    def _take_end(self) -> None:
        while self._ends:
            self._ends -= 1
            self.driver.wait(fetch_many(self.driver.pgconn))

    def _say_all(self, said: Sequence[_Said]) -> None:
        self._take_end()
        if self._pipeline is None and Pipeline.is_supported():
            # It stays open: to begin and to end one takes as long as a statement.
            self._pipeline = self._opened.enter_context(self.driver.pipeline())
        begun = time.monotonic()
        asked = [each.answer for each in said if each.answer is not None]
        self._cursors += [self.driver.cursor() for _ in range(len(self._cursors), len(asked) + 1)]
        places = count(1)
        for each in said:
            cursor = self._cursors[0 if each.answer is None else next(places)]
            if isinstance(each.values, Sequence):
                cursor.executemany(each.sql, each.values)
            else:
                cursor.execute(each.sql, each.values, prepare=each.prepare)
        if self._pipeline is not None:
            # Not by its flush: after that the server cuts off nobody who stands still.
            self._pipeline.sync()
        self.renew, came = None, time.monotonic()
        for place, answer in enumerate(asked, 1):
            answer.rows = self._cursors[place].fetchall()
            answer.came, answer.took = came, came - begun

    def _leave(self) -> None:
        """Leave the pipeline, and all that has failed in it."""
        with suppress(psycopg.Error):
            self._take_end()
        # The driver finds answers to what it has not asked, if it was interrupted.
        with suppress(psycopg.Error, LookupError):
            self._opened.close()
        self._pipeline = None


class PostgresTransaction:
    """A transaction on one connection: a Reader, and a Writer if it may write.

    `clock` is the answer to when it began, if that was asked.
    """

    __slots__ = ("_answers", "_calls", "_clock", "_freed", "_line", "limits")
    joins = True
    limits: Limits

    def __init__(self, line: ServerLine, clock: _Answer | None = None) -> None:
        self._line = line
        self._clock = clock
        self._answers = count()
        self._calls = False
        self._freed: set[str] = set()

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        return self._line.ask(_translated(sql), values).fetchall()

    def ask(self, sql: str, /, **values: object) -> Answer:
        """The same, asked together with the next question."""
        return self._line.later(_translated(sql), values)

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        return self._in_parts(PART, sql, values)

    def page(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        # The length of a text is known without reading it, and to ask for it costs no more than to
        # declare a cursor.
        ((size, longest),) = self.rows(f"{_SIZES} FROM ({sql}) AS page) AS sizes", **values)
        if size <= backend.PAGE_BYTES:
            return iter(self.rows(sql, **values))
        return self._in_parts(max(1, min(PART, backend.PAGE_BYTES // longest)), sql, values)

    def _in_parts(self, most: int, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
        # psycopg fetches a whole answer at once; a cursor of the server gives it in parts. Nobody
        # closes it: it ends with the transaction, and a reader may stop anywhere.
        name = f"answer_{next(self._answers)}"
        declared = f"DECLARE {name} NO SCROLL CURSOR FOR {_translated(sql)}"
        self._line.say(declared, values, prepare=False)
        rows = most
        while rows == most:
            part = self._line.ask(f"FETCH {most} FROM {name}", prepare=False).fetchall()
            rows = len(part)
            yield from part

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        return self._line.ask(_translated(sql), values).fetchone()

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first."""
        row = self.row(sql, **values)
        return None if row is None else row[0]

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects; all of them are kept from other writers."""
        return next(iter(self.lock(sql, **values)()), None)

    def lock(self, sql: str, /, **values: object) -> Answer:
        """All of them, asked together with the next question."""
        # Who waited for a lock gets the row as its last writer left it. Weaker than FOR UPDATE:
        # what only refers to the row, such as a new entry of a ledger, need not wait.
        return self.ask(f"{sql} FOR NO KEY UPDATE", **values)

    def lock_briefly(self, sql: str, /, **values: object) -> Answer:
        """The same, of a row for which many wait; or what writes such a row and returns it."""
        locking = "" if "RETURNING" in sql else " FOR NO KEY UPDATE"
        answer = self.ask(_BRIEFLY.format(sql + locking), **values)
        return lambda: [row[:-1] for row in answer()]

    def locked_if_free(self, sql: str, /, **values: object) -> Row | None:
        """The first without what another writer has locked."""
        return self.row(f"{sql} FOR NO KEY UPDATE SKIP LOCKED", **values)

    def all_locked_if_free(self, sql: str, /, **values: object) -> list[Row]:
        """All of them."""
        return self.rows(f"{sql} FOR NO KEY UPDATE SKIP LOCKED", **values)

    def execute(self, sql: str, /, **values: object) -> None:
        """Write, before the next question."""
        self._line.say(_translated(sql), values)

    def written(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""
        return self._line.ask(_translated(sql), values).rowcount

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`, before the next question."""
        values = list(rows)
        if values:
            self._line.say(_translated(sql), values if len(values) > 1 else values[0])

    def call(self) -> None:
        """Call crawl workers once all of this is written: a Run was queued."""
        self._calls = True

    def call_next(self, site: str) -> None:
        """The same if a Run waits for a site, whose turn this transaction gives up."""
        self._freed.add(site)

    def call_workers(self) -> None:
        """Say the calls, with what is said last: what others queue until then is seen."""
        # One call a transaction. It is sent together with the end, so nobody waits for its answer.
        if self._line.failed:
            return
        if self._calls:
            self._line.say(_CALL, {"channel": CHANNEL})
        elif self._freed:
            sites = sorted(self._freed)
            self._line.say(_CALL + _IF_WAITING, {"channel": CHANNEL, "sites": sites})

    def now(self) -> Micros:
        """The present moment by the server's clock: those of its clients may differ."""
        if self._clock is not None:
            # It came with the first answer, and this machine's own clock has counted since then.
            ((*_, began),) = self._clock()
            if self._clock.took < _LONG and self._clock.came is not None:
                return Micros(began + int((time.monotonic() - self._clock.came) * 1e6))
        return Micros(self.value(_NOW))

    def size(self) -> int:
        """The bytes of all tables with their indexes."""
        return int(self.value(_SIZE))

    def damage(self) -> list[str]:
        """Nothing: PostgreSQL checks its files itself."""
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
            for (place,) in self.rows(_DANGLING.format(table, column, parent, key))
        ]
