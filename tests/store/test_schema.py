"""The classes of the tables say what a store has: a fresh one, and one that was migrated."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import NamedTuple, get_args, get_type_hints

import pytest
from alembic import command
from sqlalchemy import BigInteger, Column, Index, Table

from livedata.services.audit.check import check_store
from livedata.store.audit import streams
from livedata.store.audit.observations import ObservationRow
from livedata.store.database import schema
from livedata.store.database.migrate import config
from livedata.store.database.statements import selected
from livedata.store.database.store import Store
from livedata.store.database.table import DescribedTable
from livedata.store.tables import metadata
from tests.dying import die_at, in_child
from tests.schema import pages, tables
from tests.store.tables_of import differences, tables_of


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store there, which is not made yet."""
    with closing(Store(url)) as store:
        yield store


def migrate(store: Store, version: str) -> None:
    """Lead a store, which may be empty, to a version."""
    with store._backend.migrating() as connection:
        command.upgrade(config(connection), version)


def test_the_migrations_lead_to_the_tables_of_a_fresh_store(url: str, store: Store) -> None:
    migrate(store, "head")
    migrated = tables_of(url)
    with store._backend.migrating() as connection:
        command.downgrade(config(connection), "base")
    assert tables_of(url) == {}
    store.ensure()
    fresh = tables_of(url)
    assert fresh.keys() == metadata.tables.keys()
    assert differences(fresh, migrated) == []


def test_a_fresh_store_has_the_tables_as_their_classes_say_them(url: str, store: Store) -> None:
    store.ensure()
    fresh = tables_of(url)
    with store._backend.migrating() as connection:
        command.downgrade(config(connection), "base")
        metadata.create_all(connection)
    assert differences(tables_of(url), fresh) == []


ENSURE = "import sys; from livedata.store.database.store import Store; Store(sys.argv[1]).ensure()"
"""What a process does that makes a store."""
BREACHES: Mapping[str, Callable[[Table], object]] = {
    "a column": lambda runs: runs.append_column(Column("mood", BigInteger)),
    "another type": lambda runs: setattr(runs.columns["attempt"], "type", BigInteger()),
    "null": lambda runs: setattr(runs.columns["problem"], "nullable", False),
    "an index": lambda runs: Index("ix_runs_site", runs.columns["site"]),
    "uniqueness": lambda runs: Index("uq_runs_site", runs.columns["site"], unique=True),
}


@pytest.mark.parametrize("breach", BREACHES)
def test_what_differs_between_two_databases_is_found(url: str, store: Store, breach: str) -> None:
    changed = type(metadata)(naming_convention=metadata.naming_convention)
    for table in metadata.tables.values():
        table.to_metadata(changed)
    BREACHES[breach](changed.tables["runs"])
    with store._backend.migrating() as connection:
        metadata.create_all(connection)
    declared = tables_of(url)
    with store._backend.migrating() as connection:
        metadata.drop_all(connection)
        changed.create_all(connection)
    differing = differences(declared, tables_of(url))
    assert differing
    assert all(line[2:].startswith("runs: ") for line in differing), differing


def test_making_a_store_imports_nothing_that_describes_tables(url: str) -> None:
    code = (
        f"{ENSURE}; print(*{{'alembic', 'pydantic', 'sqlalchemy', 'sqlmodel'}} & set(sys.modules))"
    )
    made = subprocess.run([sys.executable, "-c", code, url], capture_output=True, check=True)
    assert made.stdout.strip() == b""
    assert tables_of(url).keys() == metadata.tables.keys()


@pytest.mark.slow
def test_who_dies_while_making_a_store_leaves_none_and_the_next_makes_it(url: str) -> None:
    left = []
    for point in itertools.count(1, 5):
        if in_child(partial(_make, url, point)) == 0:
            break
        left.append(tables_of(url))
    assert left == [{}] * len(left)
    assert left
    assert tables_of(url).keys() == metadata.tables.keys()


@pytest.mark.slow
def test_four_processes_make_one_store(url: str) -> None:
    code = (
        "import sys; from livedata.store.database.store import Store; Store(sys.argv[1]).ensure()"
    )
    command_line = [sys.executable, "-c", code, url]
    processes = [subprocess.Popen(command_line, stderr=subprocess.PIPE) for _ in range(4)]
    assert [(process.communicate()[1], process.returncode) for process in processes] == [
        (b"", 0)
    ] * 4
    with closing(Store(url)) as store:
        assert check_store(store).problems == []


def _make(url: str, point: int) -> None:
    die_at(point)
    with closing(Store(url)) as store:
        store.ensure()


@pytest.mark.parametrize("page", pages(), ids=lambda page: f"{page.parent.name}/{page.name}")
def test_what_is_made_of_the_classes_is_up_to_date(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == pages()[page], (
        "The classes of the tables have changed: run python -m tests.schema."
    )


def test_every_table_is_in_the_list_of_tables() -> None:
    assert {table.name for table in tables()} == metadata.tables.keys()
    assert [table.name for table in schema.TABLES] == [table.name for table in tables()]


@pytest.mark.parametrize("table", tables(), ids=lambda table: table.name)
def test_a_table_comes_after_what_it_refers_to(table: Table) -> None:
    names = [other.name for other in tables()]
    before = names[: names.index(table.name)]
    assert {key.column.table.name for key in table.foreign_keys} <= {*before}


@pytest.mark.parametrize("table", schema.TABLES, ids=lambda table: table.name)
def test_what_loads_a_column_is_there(table: DescribedTable) -> None:
    for place in (*table.json.values(), *table.packed.values()):
        resolve_name(place)


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        (streams.DatasetRow, "datasets"),
        (streams.RunRow, "runs"),
        (streams.RevisionRow, "revisions"),
        (streams.RowRow, "rows"),
        (streams.ChargeRow, "ledger"),
        (ObservationRow, "observations"),
    ],
)
def test_what_the_judge_reads_may_be_null_where_its_column_may(
    shape: type[NamedTuple], name: str
) -> None:
    columns = metadata.tables[name].columns
    types = get_type_hints(shape)
    read = {field: types[field] for field in shape._fields if field in columns}
    assert len(read) > len(shape._fields) / 3
    for field, kind in read.items():
        assert (field, type(None) in get_args(kind)) == (field, columns[field].nullable)


def test_the_fields_of_a_shape_are_selected_in_its_order() -> None:
    class Pair(NamedTuple):
        left: int
        right: int

    assert selected(Pair, "p") == "p.left, p.right"
    assert selected(Pair, "p", left="count(*)") == "count(*), p.right"
    with pytest.raises(ValueError, match="no such field: middle"):
        selected(Pair, "p", middle="1")
