"""A transaction on one connection to PostgreSQL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import count
from typing import Any

from psycopg import Cursor
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Composable, Literal

from livedata.model.errors import Damaged
from livedata.model.ids import Micros
from livedata.store.database import backend
from livedata.store.database.backend import Row

CHANNEL = "livedata_runs"
"""Where crawl workers are called; each call names the schema whose Runs are meant."""
_CALL = SQL("SELECT pg_notify({}, current_schema())").format(Literal(CHANNEL))
_IF_WAITING = SQL(" WHERE EXISTS (SELECT 1 FROM runs WHERE status = 'queued' AND site IN ({}))")
_FAILED = TransactionStatus.INERROR
PART = 500
"""How many rows of a long answer are fetched at once."""
_SIZES = """
SELECT coalesce(sum(size), 0), coalesce(max(size), 0)
FROM (SELECT octet_length(data) + coalesce(octet_length(overrides), 0) AS size
"""
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


@lru_cache(maxsize=1024)
def _translated(sql: str) -> str:
    """The text with the parameters as psycopg writes them."""
    return _PARAMETER.sub(r"%(\1)s", sql.replace("%", "%%"))


class PostgresTransaction:
    """A transaction on one connection: a Reader, and a Writer if it may write."""

    __slots__ = ("_answers", "_calls", "_cursor", "_freed")

    def __init__(self, cursor: Cursor[Row]) -> None:
        self._cursor = cursor
        self._answers = count()
        self._calls = False
        self._freed: set[str] = set()

    def rows(self, sql: str, /, **values: object) -> list[Row]:
        """Everything that `sql` selects."""
        rows: list[Row] = self._cursor.execute(_translated(sql), values).fetchall()
        return rows

    def each(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        return self._in_parts(PART, sql, values)

    def page(self, sql: str, /, **values: object) -> Iterator[Row]:
        """The same one by one."""
        # The length of a text is known without reading it, and to ask for it costs no more than to
        # declare a cursor.
        sizes = self.row(f"{_SIZES} FROM ({sql}) AS page) AS sizes", **values)
        assert sizes is not None
        size, longest = sizes
        if size <= backend.PAGE_BYTES:
            return iter(self.rows(sql, **values))
        return self._in_parts(max(1, min(PART, backend.PAGE_BYTES // longest)), sql, values)

    def _in_parts(self, most: int, sql: str, values: Mapping[str, object]) -> Iterator[Row]:
        # psycopg fetches a whole answer at once; a cursor of the server gives it in parts. Nobody
        # closes it: it ends with the transaction, and a reader may stop anywhere.
        name = f"answer_{next(self._answers)}"
        declared = f"DECLARE {name} NO SCROLL CURSOR FOR {_translated(sql)}"
        self._cursor.execute(declared, values, prepare=False)
        rows = most
        while rows == most:
            part = self._cursor.execute(f"FETCH {most} FROM {name}", prepare=False).fetchall()
            rows = len(part)
            yield from part

    def row(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects."""
        row: Row | None = self._cursor.execute(_translated(sql), values).fetchone()
        return row

    def value(self, sql: str, /, **values: object) -> Any:
        """The first column of the first."""
        row = self.row(sql, **values)
        return None if row is None else row[0]

    def locked(self, sql: str, /, **values: object) -> Row | None:
        """The first that `sql` selects; all of them are kept from other writers."""
        # Who waited for a lock gets the row as its last writer left it. Weaker than FOR UPDATE:
        # what only refers to the row, such as a new entry of a ledger, need not wait.
        return self.row(f"{sql} FOR NO KEY UPDATE", **values)

    def locked_if_free(self, sql: str, /, **values: object) -> Row | None:
        """The same without what another writer has locked."""
        return self.row(f"{sql} FOR NO KEY UPDATE SKIP LOCKED", **values)

    def all_locked_if_free(self, sql: str, /, **values: object) -> list[Row]:
        """All of them."""
        return self.rows(f"{sql} FOR NO KEY UPDATE SKIP LOCKED", **values)

    def execute(self, sql: str, /, **values: object) -> int:
        """Write; how many rows that concerned."""
        written: int = self._cursor.execute(_translated(sql), values).rowcount
        return written

    def many(self, sql: str, rows: Iterable[Mapping[str, object]], /) -> None:
        """Write once for each of `rows`."""
        values = list(rows)
        if len(values) > 1:
            # In one pipeline: the server is not waited for row by row.
            self._cursor.executemany(_translated(sql), values)
        elif values:
            # An unchanged Run, and a small one, has many such: a pipeline costs four times as much.
            self._cursor.execute(_translated(sql), values[0])

    def call(self) -> None:
        """Call crawl workers once all of this is written: a Run was queued."""
        self._calls = True

    def call_next(self, site: str) -> None:
        """The same if a Run waits for a site, whose turn this transaction gives up."""
        self._freed.add(site)

    def commit(self) -> str:
        """Write all of it; what the server says to that."""
        # One call a transaction, and in one message with its end: nobody waits for an answer, and
        # what others queue until then is seen. After a failed statement the end alone is said.
        calls = None if self._cursor.connection.info.transaction_status is _FAILED else self._call()
        end = SQL("COMMIT") if calls is None else SQL("{}; COMMIT").format(calls)
        self._cursor.execute(end, prepare=False)
        while self._cursor.nextset():
            pass
        return self._cursor.statusmessage or ""

    def _call(self) -> Composable | None:
        if self._calls:
            return _CALL
        if self._freed:
            return _CALL + _IF_WAITING.format(SQL(", ").join(map(Literal, sorted(self._freed))))
        return None

    def now(self) -> Micros:
        """The present moment by the server's clock: those of its clients may differ."""
        # now() of PostgreSQL is when the transaction began, and it may have waited for a lock.
        return Micros(self.value("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint"))

    def size(self) -> int:
        """The bytes of all tables with their indexes."""
        size: int = self.value(_SIZE)
        return size

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
            for (place,) in self.rows(_dangling(table, column, parent, key))
        ]


def _dangling(table: str, column: str, parent: str, key: str) -> str:
    """The question for the places of the rows of `table` whose reference leads nowhere."""
    return (
        f"SELECT CAST(c.ctid AS text) FROM {table} c LEFT JOIN {parent} p "  # noqa: S608  (our names)
        f"ON p.{key} = c.{column} WHERE c.{column} IS NOT NULL AND p.{key} IS NULL"
    )
