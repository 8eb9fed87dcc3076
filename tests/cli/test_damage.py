"""A store of which something cannot be read: one sentence with its table and row, no traceback."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import Result
from msgspec.structs import replace

from livedata.model.harvest import PageSnapshot, StopReason
from livedata.services import accounts, feed
from tests import made
from tests.cli.shell import Shell
from tests.made import LOOPS
from tests.services.table import A, B, Table, pages_of

MANY = [{**A, "sku": f"K{number}"} for number in range(30)]
COMMANDS = [
    "dataset list",
    "dataset show shop",
    "dataset source shop",
    "dataset update shop --question why",
    "dataset export shop",
    "dataset export shop --format jsonl",
    "rows list shop",
    "rows show shop K1",
    "rows edit shop K1 title=Lump",
    "changes shop",
    "runs list shop",
    "runs show shop",
    "runs trace shop",
    "runs explain {failed}",
    "runs show {held}",
    "runs accept {held}",
    "runs artifacts shop",
    "usage",
    "key list",
]
TEXT = "x'ff'"
"""What no UTF-8 begins with, once it is kept as text."""
DAMAGES = [
    # table, column, what stands there
    *(("rows", column, "'{'") for column in ("data", "reasons", "overrides", "evidence")),
    *(("revisions", column, "'{'") for column in ("data", "reasons", "overrides", "was")),
    *(("runs", column, "'{'") for column in ("checks", "stop", "facts", "problem")),
    *(("datasets", column, "'{'") for column in ("columns", "field_ids")),
    *(("runs", column, "'z:zzz'") for column in ("facts",)),
    # JSON, but of another kind: it is read without an error, which comes later.
    *(("runs", column, "'5'") for column in ("checks", "stop", "facts")),
    ("datasets", "columns", "'5'"),
    ("schemas", "columns", "'5'"),
    ("recipes", "source", "'5'"),
    ("failed_pages", "counts", "'5'"),
    ("schemas", "columns", "'{'"),
    ("recipes", "source", "'{'"),
    ("attempts", "steps", "'z:{'"),
    ("observations", "entries", "'{'"),
    ("held_outputs", "harvest", "x'00'"),
    ("failed_pages", "markup", "x'00'"),
    ("failed_pages", "counts", "'{'"),
    *(("datasets", column, "9") for column in ("recipe_version", "schema_version")),
    *(("runs", "recipe_version", "0"), ("revisions", "schema_version", "9")),
    ("failed_pages", "number", "-1"),
    ("datasets", "created_at", "9223372036854775807"),
    ("rows", "updated_at", "'soon'"),
    ("runs", "queued_at", "-9223372036854775807"),
    *(
        (table, column, f"CAST({TEXT} AS TEXT)")
        for table, column in (
            *(("rows", "data"), ("rows", "source_url"), ("rows", "status"), ("cursors", "name")),
            *(("revisions", "data"), ("revisions", "kind"), ("runs", "error"), ("runs", "status")),
            *(("datasets", "name"), ("datasets", "question"), ("datasets", "schedule")),
            *(("recipes", "source"), ("ledger", "note"), ("api_keys", "label"), ("runs", "site")),
            *(("observations", "source_url"), ("attempts", "steps"), ("failed_pages", "title")),
        )
    ),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store in which everything has happened once, and the ids of its Runs by their status."""
    home = tmp_path_factory.mktemp("sound")
    store = made.make_store(home)
    made.meet_owner(store, "local", 1000)
    accounts.create_key(store, "local", "mine")
    table = Table(store)
    table.take(*MANY)
    table.take(*MANY[:29], {**B, "price": 3})
    table.edit("K1", {"price": 99})
    attempt = table.begin()
    odd = pages_of(attempt.recipe, [A], ending=StopReason("check_failed", LOOPS))
    seen = PageSnapshot(1, made.URL, made.URL, 200, "Shop", b"<p>Shop", cut=False)
    failed = table.finish(attempt, replace(odd, seen=[seen]))
    feed.keep_cursor(store, table.id, "reader", 3)
    held = table.take(A)
    assert (failed["status"], held["status"]) == ("failed", "held")
    store.close()
    return home, {"failed": failed["id"], "held": held["id"]}


@pytest.mark.parametrize(("table", "column", "value"), DAMAGES)
def test_what_cannot_be_read_is_one_sentence_with_its_table_and_row(
    sound: tuple[Path, dict[str, str]], tmp_path: Path, table: str, column: str, value: str
) -> None:
    home, ran = sound
    shutil.copytree(home, tmp_path / "home")
    plant(tmp_path / "home", f"UPDATE {table} SET {column} = {value}")
    livedata = Shell(tmp_path / "home")
    results = {words: livedata.raw(*words.format_map(ran).split()) for words in COMMANDS}
    odd = {words: result.output for words, result in results.items() if not is_told(result, table)}
    assert odd == {}
    assert "Traceback" not in livedata("check", code=1).output


def is_told(result: Result, table: str) -> bool:
    """Whether a command did its work, or says what of the store it cannot read."""
    if result.exit_code == 0:
        return result.exception is None
    told = f"Error: The store is damaged: in the table {table}, row "
    return result.exit_code == 1 and told in result.stderr


def plant(home: Path, statement: str) -> None:
    with closing(sqlite3.connect(home / "livedata.db")) as driver, driver:
        assert driver.execute(statement).rowcount > 0


@pytest.mark.parametrize("command", ["rows edit shop K1 title=Lump", "runs accept {held}"])
def test_a_head_that_was_set_by_hand_is_told(
    sound: tuple[Path, dict[str, str]], tmp_path: Path, command: str
) -> None:
    home, ran = sound
    shutil.copytree(home, tmp_path / "home")
    plant(tmp_path / "home", "UPDATE datasets SET head = 2")
    livedata = Shell(tmp_path / "home")
    said = livedata.error(*command.format_map(ran).split())
    assert said.startswith("Error: The store is damaged: in the table datasets, row ")
    assert "the column head" in said
    assert "livedata check" in said
    assert "has the head 2, and its feed ends at" in livedata("check", code=1).stdout


@pytest.mark.parametrize("table", ["datasets", "skipped_fires", "rows"])
def test_a_table_that_lost_its_primary_key_is_named(
    sound: tuple[Path, dict[str, str]], tmp_path: Path, table: str
) -> None:
    home, _ = sound
    shutil.copytree(home, tmp_path / "home")
    with closing(sqlite3.connect(tmp_path / "home" / "livedata.db")) as driver, driver:
        driver.execute(f"CREATE TABLE made_anew AS SELECT * FROM {table}")
        driver.execute(f"DROP TABLE {table}")
        driver.execute(f"ALTER TABLE made_anew RENAME TO {table}")
    livedata = Shell(tmp_path / "home")
    said = f"The store is damaged: the table {table} has lost its primary key."
    assert said in livedata("check", code=1).stdout
    if table == "datasets":
        assert said in livedata.error("rows", "edit", "shop", "K1", "title=Lump", code=8)
        assert said in livedata.error("dataset", "delete", "shop", "--yes", code=8)
