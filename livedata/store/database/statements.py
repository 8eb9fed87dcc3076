"""SQL text made of column names: for what is written column by column, or asked by its id.

Values never stand in the text, and every name is one that is written in our code.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from msgspec import Struct

from livedata.model.ids import ID_LENGTH, matches_either_end
from livedata.store.database.backend import Reader, Row, Writer

_DIGITS: Final = re.compile(f"[0-9a-fA-F]{{1,{2 * ID_LENGTH}}}")


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


def by_ends(reader: Reader, sql: str, column: str, given: str, **values: object) -> list[Row]:
    """The rows of `sql` whose id somebody means who writes the whole of it, or either end.

    The id is the first that `sql` selects, and `column` its name; `sql` ends with a condition.
    """
    digits = given.replace("-", "")
    if not _DIGITS.fullmatch(digits):
        return []
    first, last = (bytes.fromhex(digits.ljust(2 * ID_LENGTH, digit)) for digit in "0f")
    tail = bytes.fromhex(digits[len(digits) % 2 :])
    # The whole of an id is a step in its index, which SQLite does not take for a range; its end is
    # looked for in all of them, byte by byte.
    ends = f"substr({column}, {ID_LENGTH + 1 - len(tail)}) = :tail"
    either = f"({column} BETWEEN :first AND :last OR {ends})"
    sql = f"{sql} AND {f'{column} = :first' if first == last else either}"
    rows = reader.rows(sql, first=first, last=last, tail=tail, **values)
    return [row for row in rows if matches_either_end(given, row[0])]


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
