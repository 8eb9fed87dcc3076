"""What is made of the classes of the tables: ``python -m tests.schema`` writes it.

The SQL that makes a fresh store, for each database, and what runs has to know of a table. So a
program that runs imports neither SQLAlchemy nor SQLModel.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Integer,
    LargeBinary,
    Table,
    UniqueConstraint,
    make_url,
)
from sqlalchemy.schema import CreateIndex, CreateTable

from livedata.store.database.codec import JsonColumn
from livedata.store.database.table import Archived, DescribedTable
from livedata.store.tables import RECORDS, metadata
from livedata.store.tables.columns import Said, SaidOfTable

ROOT = Path(__file__).resolve().parents[1]
DATABASE = ROOT / "livedata" / "store" / "database"
SCHEMA = DATABASE / "schema.py"
HEAD = '''\
"""What is to be known of each table: made by `python -m tests.schema` of their classes.

Change those, in `livedata/store/tables`.
"""

from __future__ import annotations

from livedata.store.database.table import Archived, DescribedTable

'''
SQL: Mapping[Path, Dialect] = {
    DATABASE / "sqlite" / "schema.sql": make_url("sqlite://").get_dialect()(),
    DATABASE / "postgres" / "schema.sql": make_url("postgresql+psycopg://").get_dialect()(),
}
SQL_HEAD = "-- The tables of a fresh store: made by `python -m tests.schema` of their classes.\n"
VERSIONS = """
CREATE TABLE IF NOT EXISTS alembic_version (
\tversion_num VARCHAR(32) NOT NULL,
\tCONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
"""
"""The table of Alembic; a store that was migrated down to nothing has kept it."""


def pages() -> Mapping[Path, str]:
    """Every file that is made, with its text."""
    return {SCHEMA: described(), **{path: sql(dialect) for path, dialect in SQL.items()}}


def tables() -> list[Table]:
    """The tables in their order."""
    return [metadata.tables[str(record.__tablename__)] for record in RECORDS]


def sql(dialect: Dialect) -> str:
    """The statements that make the tables of a fresh store, an empty line behind each."""
    statements = (str(made.compile(dialect=dialect)).strip() for made in _makers())
    text = "".join(f"\n{statement};\n" for statement in statements)
    return SQL_HEAD + VERSIONS + "\n".join(line.rstrip() for line in text.split("\n"))


def _makers() -> Iterator[CreateTable | CreateIndex]:
    for table in tables():
        yield CreateTable(table)
        yield from map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name)))


def described() -> str:
    """What runs has to know of the tables, as Python."""
    text = ",\n".join(map(_written, map(_described, tables())))
    code = f'{HEAD}TABLES = ({text},)\n"""Every table, each after what it refers to."""\n'
    ruff = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(SCHEMA), "-"]
    return subprocess.run(ruff, input=code, capture_output=True, check=True, text=True).stdout


def _written(value: DescribedTable | Archived) -> str:
    """A shape as Python, without what is empty, which it is by default."""
    stated = (
        f"{name}={_written(part) if isinstance(part, Archived) else repr(part)}"
        for name in value.__struct_fields__
        if (part := getattr(value, name))
    )
    return f"{type(value).__name__}({', '.join(stated)})"


def _described(table: Table) -> DescribedTable:
    said = {column.name: _said(column) for column in table.columns}
    shapes = {name: number["shape"] for name, number in said.items() if "shape" in number}
    return DescribedTable(
        name=table.name,
        key=table.primary_key.columns[0].name,
        json={name: _shape(shape) for name, shape in shapes.items()},
        compressed=tuple(name for name in shapes if said[name].get("compressed")),
        packed={
            name: _place(number["unpack"]) for name, number in said.items() if "unpack" in number
        },
        versions={
            name: number["version_of"] for name, number in said.items() if "version_of" in number
        },
        moments=tuple(name for name, number in said.items() if "moment" in number),
        unique=tuple(sorted(_unique(table))),
        archived=_archived(table),
        research=bool(table.info.get("research")),
    )


def _said(column: Column[Any]) -> Said:
    return column.info  # type: ignore[return-value]


def _shape(shape: JsonColumn[Any]) -> str:
    # The module by which its class names it; of two that have it always the same one.
    modules = {
        value.__name__: value
        for record in RECORDS
        for value in vars(sys.modules[record.__module__]).values()
        if isinstance(value, ModuleType)
    }
    return next(
        f"{module.__name__}:{name}"
        for _, module in sorted(modules.items())
        for name, value in vars(module).items()
        if value is shape
    )


def _place(reads: Callable[..., object]) -> str:
    return f"{reads.__module__}:{reads.__qualname__}"


def _unique(table: Table) -> Iterator[str]:
    """What each unique index of a table but its primary key is over."""
    for constraint in table.constraints:
        if isinstance(constraint, UniqueConstraint):
            yield ",".join(column.name for column in constraint.columns)
    for index in table.indexes:
        if index.unique:
            yield ",".join(column.name for column in index.columns)


def _archived(table: Table) -> Archived | None:
    said: SaidOfTable = table.info  # type: ignore[assignment]
    if "archived" not in said:
        return None
    columns = {name: table.columns[name] for name in said["archived"]}
    kinds = {
        name: _kind(column) + ("?" if column.nullable and name not in said["always"] else "")
        for name, column in columns.items()
    }
    return Archived(kinds, said["order"], said["where"], said["later"])


def _kind(column: Column[Any]) -> str:
    if isinstance(column.type, Integer | BigInteger):
        return "integer"
    if isinstance(column.type, LargeBinary):
        return "id" if column.info.get("id") else "bytes"
    return "text"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
