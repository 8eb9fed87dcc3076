"""Wherever types of columns are told apart, each of them is known."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, get_args

import orjson
import pytest

from livedata.cli.source.template import TEMPLATE
from livedata.extraction.cells import read_cell
from livedata.model.dataset import CollectedType, Column, ColumnType
from livedata.rules.changes.invariants import disagrees
from livedata.rules.conditions.parsing import example_clause, parse_where
from tests.made import make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

TYPED: dict[str, tuple[str, Any]] = {
    "string": ("oak", "oak"),
    "number": ("9.50", 9.5),
    "date": ("2026-01-31", "2026-01-31"),
    "url": ("https://shop.example/a", "https://shop.example/a"),
    "boolean": ("true", True),
}
"""Type -> a value as a person types it, and as it is kept."""
NOT_TYPED: dict[str, tuple[str, str]] = {
    "number": ("many", "must be a number"),
    "date": ("soon", "must be an ISO date"),
    "url": ("shop", "must be an absolute http or https address"),
    "boolean": ("perhaps", "must be true or false"),
}
READ: dict[str, tuple[str, Any]] = {
    "string": (" an  oak ", "an oak"),
    "number": ("1,234.50 EUR", 1234.5),
    "boolean": ("Yes", True),
}
"""Type -> what a page says, and what is read."""


@pytest.fixture
def typed(livedata: Shell, store: Store) -> Shell:
    """The command line over a dataset that has a column of each type, with a value in its row."""
    columns: list[dict[str, object]] = [{"name": "sku", "type": "string", "key": True}]
    columns += [{"name": f"a_{kind}", "type": kind, "ownership": "user"} for kind in TYPED]
    take(store, make_dataset(store, columns=columns), [{"sku": "A1"}])
    livedata(
        "rows", "edit", "shop", "A1", *(f"a_{kind}={text}" for kind, (text, _) in TYPED.items())
    )
    return livedata


def test_the_tables_here_have_each_type() -> None:
    assert TYPED.keys() == set(get_args(ColumnType))
    assert NOT_TYPED.keys() == TYPED.keys() - {"string"}
    assert READ.keys() == set(get_args(CollectedType))


def test_a_value_of_each_type_is_kept_and_the_store_is_whole(typed: Shell, tmp_path: Path) -> None:
    typed("dataset", "export", "shop", "--format", "jsonl", "-o", str(tmp_path / "rows"))
    row = orjson.loads((tmp_path / "rows").read_bytes())
    assert {kind: row[f"a_{kind}"] for kind in TYPED} == {
        kind: kept for kind, (_, kept) in TYPED.items()
    }
    typed("check")


@pytest.mark.parametrize("kind", NOT_TYPED)
def test_a_value_of_another_type_is_refused(typed: Shell, kind: str) -> None:
    text, said = NOT_TYPED[kind]
    assert said in typed.error("rows", "edit", "shop", "A1", f"a_{kind}={text}")


def test_a_sqlite_file_has_a_column_of_each_type(typed: Shell, tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    typed("dataset", "export", "shop", "--format", "sqlite", "-o", str(file))
    names = ", ".join(f"a_{kind}" for kind in TYPED)
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute(f"SELECT {names} FROM rows").fetchall() == [
            tuple(kept for _, kept in TYPED.values())
        ]


def test_a_data_package_describes_a_column_of_each_type(typed: Shell, tmp_path: Path) -> None:
    typed("dataset", "export", "shop", "--format", "datapackage", "-o", str(tmp_path / "shop"))
    description = orjson.loads((tmp_path / "shop" / "datapackage.json").read_bytes())
    described = {each["name"] for each in description["resources"][0]["schema"]["fields"]}
    assert {f"a_{kind}" for kind in TYPED} <= described
    with (tmp_path / "shop" / "rows.csv").open() as rows:
        assert len([*csv.reader(rows)]) == 2


@pytest.mark.parametrize("file_format", ["parquet", "xlsx"])
def test_a_file_of_other_programs_takes_a_value_of_each_type(
    typed: Shell, tmp_path: Path, file_format: str
) -> None:
    file = tmp_path / f"shop.{file_format}"
    typed("dataset", "export", "shop", "--format", file_format, "-o", str(file))
    assert file.stat().st_size > 0


@pytest.mark.parametrize("kind", TYPED)
def test_a_condition_asks_for_a_value_of_each_type(typed: Shell, kind: str) -> None:
    kept = str(TYPED[kind][1]).replace("True", "true")
    for clause in (f"a_{kind} = {kept}", f"a_{kind} is not empty"):
        assert "A1" in typed("rows", "list", "shop", "--where", clause).stdout
    assert "A1" in typed("changes", "shop", "--when", f"a_{kind} changes").stdout


@pytest.mark.parametrize("kind", get_args(ColumnType))
def test_the_example_of_each_type_is_a_condition_that_is_right(kind: ColumnType) -> None:
    column: Column = {
        "id": "f1",
        "label": "A",
        "name": "a",
        "ownership": "user",
        "type": kind,
        "key": False,
    }
    assert parse_where([example_clause([column])], [column]).states


@pytest.mark.parametrize("kind", READ)
def test_a_cell_of_each_type_that_runs_collect_agrees_with_its_text(kind: str) -> None:
    text, value = READ[kind]
    assert read_cell(text, kind).value == value
    assert not disagrees(kind, value, text)


def test_a_new_source_names_each_type() -> None:
    line = next(line for line in TEMPLATE.splitlines() if line.startswith("# type "))
    assert [kind for kind in TYPED if f'"{kind}"' not in line] == []
