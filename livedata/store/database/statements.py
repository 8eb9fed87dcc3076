"""SQL text made of column names: for what is written column by column.

Values never stand in the text, and every name is one that is written in our code.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from msgspec import Struct

from livedata.store.database.backend import Reader, Writer


def insert(table: str, *columns: str) -> str:
    """An INSERT of one row, each column with the parameter of its name."""
    # A parameter cannot stand for a name of a table or column, so the text is made of them.
    named = ", ".join(f":{column}" for column in columns)
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({named})"  # noqa: S608  (our names)


def assign(columns: Iterable[str], allowed: Collection[str]) -> str:
    """What stands after SET: each column with the parameter of its name.

    Raises ValueError for a column that is not `allowed`.
    """
    # The names are keywords of a call: text from elsewhere, or a misspelt word, must not be SQL.
    unknown = [column for column in columns if column not in allowed]
    if unknown:
        raise ValueError(f"no such column: {', '.join(unknown)}")
    return ", ".join(f"{column} = :{column}" for column in columns)


def selected(shape: type[tuple[Any, ...]], table: str, **others: str) -> str:
    """What stands behind SELECT, so that its answer is a `shape`, a NamedTuple.

    A field is the column of its name in `table`, or what `others` says. Raises ValueError for what
    is no field.
    """
    # So the order of the columns stands in one place: an answer has no names, only places.
    fields: tuple[str, ...] = shape._fields  # type: ignore[attr-defined]
    unknown = others.keys() - {*fields}
    if unknown:
        raise ValueError(f"no such field: {', '.join(sorted(unknown))}")
    return ", ".join(others.get(field, f"{table}.{field}") for field in fields)


def listed(prefix: str, values: Iterable[object]) -> tuple[str, dict[str, object]]:
    """A list for IN, without its brackets, and the parameters that stand in it."""
    # A list cannot be one parameter: each value needs its own. PostgreSQL refuses an empty list,
    # so callers that have no values do not ask.
    named = {f"{prefix}{place}": value for place, value in enumerate(values)}
    return ", ".join(f":{name}" for name in named), named


def write_both(
    writer: Writer, first: str, second: str, rows: Collection[Mapping[str, object]]
) -> None:
    """Write two things for each of `rows`, in one statement if the database can.

    Both are of what this transaction has locked, and neither sees what the other writes.
    """
    for sql in [f"WITH first AS ({first}) {second}"] if writer.joins else [first, second]:
        writer.many(sql, rows)


class Expiring(Struct, frozen=True):
    """What a table keeps for a time: the rows that are `old` at ``:moment``, and how they go."""

    table: str
    key: str
    old: str
    let_go: str

    def count(self, reader: Reader, moment: int) -> int:
        """How much is old at a moment."""
        sql = f"SELECT count(*) FROM {self.table} WHERE {self.old}"  # noqa: S608  (our names)
        count: int = reader.value(sql, moment=moment)
        return count

    def forget(self, writer: Writer, moment: int, limit: int) -> int:
        """Let go of what is old at a moment, of so much at most; how much that was."""
        keys = f"SELECT {self.key} FROM {self.table} WHERE {self.old} LIMIT :limit"  # noqa: S608
        sql = f"{self.let_go} WHERE ({self.key}) IN ({keys})"
        return writer.written(sql, moment=moment, limit=limit)
