"""All that a database knows of its tables, but how their SQL is written."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import psycopg


class Columns(NamedTuple):
    """A table: its columns in order, its constraints with their names, its indexes, its kind.

    The kind is how it is stored, with what PostgreSQL is told of it.
    """

    columns: Sequence[tuple[Any, ...]]
    """Place, name, type, whether it may be null, default, and what else the database has of it."""
    constraints: Sequence[str]
    indexes: Sequence[tuple[Any, ...]]
    kind: str = ""


TABLES = """
SELECT c.oid, c.relname, concat_ws(' ', c.relpersistence, (
    SELECT string_agg(o, ' ' ORDER BY o) FROM unnest(c.reloptions) AS o)) FROM pg_class c
WHERE c.relnamespace = CAST(current_schema() AS regnamespace) AND c.relkind = 'r'
AND c.relname NOT LIKE 'alembic%%' ORDER BY c.relname
"""
COLUMNS = """
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity,
       pg_get_expr(d.adbin, d.adrelid), o.collname
FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
LEFT JOIN pg_collation o ON o.oid = a.attcollation
WHERE a.attrelid = %s AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
CONSTRAINTS = """
SELECT conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = %s ORDER BY conname
"""
INDEXES = """
SELECT c.relname, i.indisunique, i.indisprimary, pg_get_indexdef(i.indexrelid)
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = %s ORDER BY c.relname
"""


def tables_of(url: str) -> Mapping[str, Columns]:
    """Every table of livedata's own in a database."""
    path = url.removeprefix("sqlite:///")
    return _of_postgres(url) if path == url else of_sqlite(Path(path))


def differences(expected: Mapping[str, Columns], tables: Mapping[str, Columns]) -> list[str]:
    """What is expected and missing, with ``-`` before it, and what is there instead, with ``+``."""
    wanted, present = _things(expected), _things(tables)
    missing = (f"- {thing}" for thing in sorted(wanted - present))
    return [*missing, *(f"+ {thing}" for thing in sorted(present - wanted))]


def _things(tables: Mapping[str, Columns]) -> set[str]:
    """Each column, constraint and index as a line of its own."""
    return {
        f"{table}: {thing}"
        for table, columns in tables.items()
        for thing in (columns.kind, *columns.columns, *columns.constraints, *columns.indexes)
    }


def of_sqlite(path: Path) -> Mapping[str, Columns]:
    """The same of a file."""
    with closing(sqlite3.connect(path)) as driver:
        return {
            table: Columns(
                driver.execute(f"PRAGMA table_xinfo({table})").fetchall(),
                _constraints(driver, table),
                _indexes(driver, table),
                "WITHOUT ROWID" if without_rowid else "",
            )
            for _, table, kind, _, without_rowid, _ in driver.execute("PRAGMA table_list")
            if kind == "table" and not table.startswith(("sqlite_", "alembic_"))
        }


def _constraints(driver: sqlite3.Connection, table: str) -> list[str]:
    (sql,) = driver.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    named = re.findall(r"CONSTRAINT (.+?),?\s*$", sql, re.MULTILINE)
    keys = driver.execute(f"PRAGMA foreign_key_list({table})").fetchall()
    return sorted([*named, *(repr(key[2:]) for key in keys)])


def _indexes(driver: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    """The indexes of a table: their names, unique or not, over what, and where."""
    indexes = []
    for _, name, unique, origin, partial in driver.execute(f"PRAGMA index_list({table})"):
        columns = tuple(row[2] for row in driver.execute(f"PRAGMA index_info({name})"))
        sql = driver.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        where = re.search(r" WHERE (.*)", (sql and sql[0]) or "", re.DOTALL)
        called = name if origin == "c" else ""
        indexes.append((called, unique, origin, partial, columns, where and where[1]))
    return sorted(indexes, key=repr)


def _of_postgres(url: str) -> Mapping[str, Columns]:
    with psycopg.connect(url) as driver:
        return {
            table: Columns(
                [(place, *row) for place, row in enumerate(driver.execute(COLUMNS, (oid,)))],
                [text for (text,) in driver.execute(CONSTRAINTS, (oid,))],
                driver.execute(INDEXES, (oid,)).fetchall(),
                kind,
            )
            for oid, table, kind in driver.execute(TABLES).fetchall()
        }
