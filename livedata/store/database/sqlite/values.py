"""What SQLite keeps although no reader expects it: it neither judges text nor types of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from livedata.model.errors import Damaged
from livedata.model.ids import ID_LENGTH, format_uuid
from livedata.store.database.backend import Reader

_STORED = {"BLOB": "blob", "BIGINT": "integer", "INTEGER": "integer", "BOOLEAN": "integer"}
"""The type of a column -> how its values are kept; all others are text."""
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
_COLUMNS = "SELECT name, type, pk FROM pragma_table_info(:table)"

WITHOUT_KEY = """
SELECT name FROM sqlite_master m WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
AND NOT EXISTS (SELECT 1 FROM pragma_table_info(m.name) WHERE pk) ORDER BY name
"""
"""The question for the tables that have lost their primary key: each is made with one."""
UNIQUE_INDEXES = """
SELECT name, group_concat(part, ',') FROM (
    SELECT m.name, l.name AS made, c.name AS part
    FROM sqlite_master m, pragma_index_list(m.name) l, pragma_index_info(l.name) c
    WHERE m.type = 'table' AND l."unique" AND l.origin <> 'pk' ORDER BY m.name, l.name, c.seqno)
GROUP BY name, made
"""
"""The question for (table, columns) of every unique index but primary keys."""


def without_key(table: str) -> str:
    """The sentence for a table without its primary key."""
    return (
        f"The store is damaged: the table {table} has lost its primary key. Put a backup in its "
        "place."
    )


def unreadable(reader: Reader, decodes: Callable[[str], bool]) -> Iterator[Damaged]:
    """The values that are no text in UTF-8, or of another type than their column.

    `decodes` tells whether all texts that a question selects can be read.
    """
    for (table,) in reader.rows(_TABLES):
        columns = reader.rows(_COLUMNS, table=table)
        # As bytes: the key itself may be what cannot be read.
        keys = ", ".join(f"CAST({name} AS BLOB)" for name, _, in_key in columns if in_key)
        for column, declared, _ in columns:
            stored = _STORED.get(declared, "text")
            yield from _of_another_type(reader, table, keys, column, stored)
            # Decoded by the driver, in one go; value by value only if that has failed.
            if stored == "text" and not decodes(f"SELECT {column} FROM {table}"):  # noqa: S608
                yield from _not_utf8(reader, table, keys, column)


def _of_another_type(
    reader: Reader, table: str, keys: str, column: str, stored: str
) -> Iterator[Damaged]:
    others = f"typeof({column}) NOT IN ('null', '{stored}')"
    for key in reader.each(f"SELECT {keys} FROM {table} WHERE {others}"):  # noqa: S608
        yield Damaged(table, _row_name(key), column)


def _not_utf8(reader: Reader, table: str, keys: str, column: str) -> Iterator[Damaged]:
    texts = f"SELECT CAST({column} AS BLOB), {keys} FROM {table} WHERE typeof({column}) = 'text'"  # noqa: S608
    for text, *key in reader.each(texts):
        if not _is_utf8(text):
            yield Damaged(table, _row_name(key), column)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _row_name(key: Iterable[bytes]) -> str:
    """The key of a row, part by part, as people see it."""
    parts = (
        format_uuid(part) if len(part) == ID_LENGTH else part.decode(errors="backslashreplace")
        for part in key
    )
    return "/".join(parts)
