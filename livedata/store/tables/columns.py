"""What a table says of itself: the kinds of its columns, its indexes, and what is archived of it.

Whether a column may be null stands in its type: ``int | None``. What SQL cannot say stands in its
`info`, by the names in `Said`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from sqlalchemy import BigInteger, Identity, Index, Integer, LargeBinary
from sqlalchemy import text as sql_text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import CreateColumn
from sqlmodel import Field, SQLModel

from livedata.store.migrations.columns import NAMES, TEXT

if TYPE_CHECKING:
    from livedata.store.database.codec import JsonColumn

# Here, because every file of tables imports this one before its first table.
SQLModel.metadata.naming_convention = NAMES


class Said(TypedDict, total=False):
    """What the `info` of a column may have."""

    id: bool
    moment: bool
    shape: JsonColumn[Any]
    compressed: bool
    """Whether its JSON may be compressed."""
    unpack: Callable[[bytes], object]
    version_of: str
    only_on: str
    """The one database that needs the column."""


class SaidOfTable(TypedDict, total=False):
    """What the `info` of a table may have."""

    archived: Sequence[str]
    """The columns that are in the archive of a dataset, in the order that its file has."""
    order: str
    where: str
    always: Sequence[str]
    """The columns that may be null, but never in what `where` selects."""
    later: Sequence[str]
    """The columns that the first version of the format has not."""
    research: bool
    """Whether only research keeps something in it."""


def _column(said: Said, kind: Any = LargeBinary, **more: Any) -> Any:
    return Field(sa_type=kind, sa_column_kwargs={"info": said}, **more)


def own_id() -> Any:
    """The id of a row: 16 bytes."""
    return _column({"id": True}, primary_key=True)


def id_of(table: str, **more: Any) -> Any:
    """The id of a row of another table, which must be there."""
    return _column({"id": True}, foreign_key=f"{table}.id", **more)


def loose_id(**more: Any) -> Any:
    """The id of a row of another table, which may come later, or be gone."""
    return _column({"id": True}, **more)


def text(**more: Any) -> Any:
    """Text, which every database sorts alike."""
    return _column({}, TEXT, **more)


def big(**more: Any) -> Any:
    """An integer of 64 bits: a plain one has 32 on PostgreSQL."""
    return _column({}, BigInteger, **more)


def moment(**more: Any) -> Any:
    """Microseconds since 1970."""
    return _column({"moment": True}, BigInteger, **more)


def version_of(table: str) -> Any:
    """The number of a version of its dataset, which another table must have."""
    return _column({"version_of": table}, Integer)


def json(shape: JsonColumn[Any], *, compressed: bool = False) -> Any:
    """JSON of a shape, as text; `compressed` if it may be that too."""
    return _column({"shape": shape, "compressed": compressed}, TEXT)


def packed(unpack: Callable[[bytes], object]) -> Any:
    """Compressed bytes, and what reads them."""
    return _column({"unpack": unpack})


def counted_on(database: str) -> Any:
    """The number of a row, in the order in which rows came, where a database has none by itself."""
    identity = Identity(always=True)
    return _column({"only_on": database}, BigInteger, sa_column_args=[identity])


@compiles(CreateColumn, "sqlite")
def _of_sqlite(create: Any, compiler: Any, **options: Any) -> str | None:
    if create.element.info.get("only_on", "sqlite") != "sqlite":
        return None
    sql: str = compiler.visit_create_column(create, **options)
    return sql


def some(name: str, *columns: str, where: str, unique: bool = True) -> Index:
    """An index over the rows that fulfil a condition."""
    condition = sql_text(where)  # SQLAlchemy has it apart for each database; both mean the same
    return Index(name, *columns, unique=unique, sqlite_where=condition, postgresql_where=condition)


def archived(
    columns: str,
    *,
    order: str,
    where: str = "dataset_id = :dataset",
    always: str = "",
    later: str = "",
    research: bool = False,
) -> Mapping[str, SaidOfTable]:
    """What stands last in ``__table_args__``: what of the table an archive has, line by line.

    A line has the `columns` in this order; `always` those that may be null, but not where `where`
    selects, and `later` those that the first version of the format has not.
    """
    return {
        "info": {
            "archived": columns.split(),
            "order": order,
            "where": where,
            "always": always.split(),
            "later": later.split(),
            "research": research,
        }
    }


def only_of_research() -> Mapping[str, SaidOfTable]:
    """The same of a table in which only research keeps something, and no archive has."""
    return {"info": {"research": True}}


def vacuumed_soon(said: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same of a table that grows for years while its newest rows change.

    PostgreSQL lets a fifth of a table be dead before it vacuums it, and spares its indexes if what
    is dead lies on few pages. Who asks what is queued, or old, passes all that is dead there.
    """
    options = {"autovacuum_vacuum_scale_factor": "0.01", "vacuum_index_cleanup": "on"}
    return {**said, "postgresql_with": options}
