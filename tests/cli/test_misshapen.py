"""JSON of the store that can be read but is wrong inside: one sentence with its table and row."""

from __future__ import annotations

import json
import shutil
import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import Result
from msgspec.structs import replace

from livedata.model.harvest import Harvest, PageSnapshot, StopReason
from livedata.model.ids import format_uuid
from livedata.store.database.codec import load_compressed
from tests import made
from tests.cli.shell import Shell
from tests.made import LOOPS
from tests.services.table import NATURAL, A, B, Table, pages_of

MANY = [{**A, "sku": f"K{number}"} for number in range(20)]
COMMANDS = (
    "dataset list",
    "dataset list --json",
    "dataset show shop",
    "dataset show shop --json",
    "dataset source shop",
    "dataset export shop",
    "dataset export shop --format jsonl",
    "rows list shop",
    "rows list shop --json",
    "rows show shop K1",
    "rows show shop K1 --history",
    "rows show shop B2 --json",
    "changes shop",
    "changes shop --json",
    "changes shop --names",
    "runs list shop",
    "runs list shop --json",
    "runs show {odd}",
    "runs show {failed}",
    "runs show {held}",
    "runs trace {odd}",
    "runs explain {odd}",
    "runs explain {failed}",
    "runs explain {held}",
    "runs artifacts {failed}",
    "dataset update shop --question why",
    "rows edit shop K1 title=Lump",
    "runs accept {held}",
    "usage",
)
"""What reads, and at the end what writes: the last one turns the held Run into rows."""
NOTHING = object()
"""Stands for a key that is taken away."""
HUGE = 1 << 70
"""An integer that no JSON of the store can have."""
EVERYTHING: tuple[str, ...] = ()
"""The path of a whole value."""

ODD = "id = x'{odd}'"
FAILED = "status = 'failed'"
HELD = "status = 'held'"
K1 = "row_key = 'K1'"
EDIT = "overrides IS NOT NULL"
DATASETS = "dataset list", "dataset show shop --json", "rows list shop", "changes shop"
ROWS = "rows list shop", "rows list shop --json", "rows show shop K1", "dataset export shop"
HISTORY = "changes shop", "changes shop --json", "rows show shop K1 --history"
MISSHAPEN: list[tuple[str, str, str, Sequence[object], object, Sequence[str]]] = [
    # table, column, row, path in the JSON, what stands there, commands that cannot do without it
    ("datasets", "columns", "TRUE", EVERYTHING, [1], DATASETS),
    ("datasets", "columns", "TRUE", EVERYTHING, {}, DATASETS),
    ("datasets", "columns", "TRUE", [2, "name"], 5, DATASETS),
    ("datasets", "columns", "TRUE", [2, "name"], NOTHING, DATASETS),
    ("datasets", "columns", "TRUE", [2, "type"], "money", DATASETS),
    ("datasets", "columns", "TRUE", [2, "id"], None, DATASETS),
    ("datasets", "columns", "TRUE", [0, "key"], "yes", DATASETS),
    ("datasets", "field_ids", "TRUE", EVERYTHING, [1], ROWS),
    ("datasets", "field_ids", "TRUE", [0], "x", ROWS),
    ("recipes", "source", "TRUE", EVERYTHING, {"version": 1}, ["runs accept {held}"]),
    ("recipes", "source", "TRUE", ["pagination"], 5, ["runs explain {odd}"]),
    ("recipes", "source", "TRUE", ["fields"], [1], ["runs explain {failed}"]),
    ("schemas", "columns", "TRUE", EVERYTHING, [1], ["changes shop", "changes shop --json"]),
    ("schemas", "columns", "TRUE", [1, "label"], [], ["changes shop", "changes shop --json"]),
    ("rows", "data", K1, EVERYTHING, {"a": 1}, ROWS),
    ("rows", "data", K1, [1], {"a": 1}, ROWS),
    ("rows", "data", K1, [1], [1], ROWS),
    ("rows", "data", K1, EVERYTHING, "K1", ROWS),
    ("rows", "data", K1, [2], HUGE, ROWS),
    ("rows", "reasons", "row_key = 'B2'", EVERYTHING, {"2": "why"}, ["rows list shop"]),
    ("rows", "reasons", "row_key = 'B2'", EVERYTHING, {"2": {}}, ["rows list shop"]),
    ("rows", "reasons", "row_key = 'B2'", EVERYTHING, {"99": "unknown"}, ["rows list shop"]),
    ("rows", "overrides", K1, EVERYTHING, {"2": 5}, ROWS),
    ("rows", "overrides", K1, EVERYTHING, {"2": {}}, ["rows show shop K1"]),
    ("rows", "overrides", K1, EVERYTHING, {"99": {"value": 1}}, ["rows show shop K1"]),
    ("revisions", "data", EDIT, EVERYTHING, {"a": 1}, HISTORY),
    ("revisions", "data", EDIT, [0], [[]], HISTORY),
    ("revisions", "data", EDIT, [2], HUGE, HISTORY),
    ("revisions", "overrides", EDIT, EVERYTHING, {"2": [1]}, HISTORY),
    ("revisions", "was", "was <> '[]'", EVERYTHING, {"a": 1}, ["changes shop"]),
    ("revisions", "was", "was <> '[]'", EVERYTHING, [1, 2, 3], ["changes shop"]),
    ("revisions", "reasons", "reasons IS NOT NULL", EVERYTHING, [1], ["changes shop"]),
    ("observations", "entries", "TRUE", EVERYTHING, [1], ["changes shop"]),
    ("observations", "entries", "TRUE", ["2"], [1], ["changes shop"]),
    ("observations", "entries", "TRUE", ["2", "1"], {"a": 1}, ["changes shop"]),
    ("observations", "entries", "TRUE", ["2", "1"], [5], ["changes shop"]),
    ("observations", "entries", "TRUE", ["2"], {"99": "x"}, ["changes shop"]),
    ("observations", "entries", "TRUE", ["2"], NOTHING, ["rows show shop K1"]),
    ("runs", "checks", ODD, EVERYTHING, [1], ["runs list shop", "runs show {odd}"]),
    ("runs", "checks", ODD, [0], {"a": 1}, ["runs list shop --json", "runs show {odd}"]),
    ("runs", "stop", ODD, EVERYTHING, [1], ["runs show {odd}", "runs explain {odd}"]),
    ("runs", "facts", HELD, ["checked"], HUGE, ["runs accept {held}"]),
    ("runs", "facts", ODD, ["pages"], [1], ["runs show {odd}", "runs explain {odd}"]),
    ("runs", "facts", ODD, ["fields", 0, "id"], NOTHING, ["runs show {odd}", "runs list shop"]),
    ("runs", "facts", ODD, ["odd"], [{"a": 1}], ["runs show {odd}", "runs list shop"]),
    ("runs", "facts", ODD, ["odd", 0, "code"], "nobody_knows_it", ["runs show {odd}"]),
    ("runs", "problem", FAILED, EVERYTHING, {}, ["runs show {failed}", "runs explain {failed}"]),
    ("runs", "problem", FAILED, ["params"], [], ["runs show {failed}", "runs explain {failed}"]),
    ("runs", "problem", FAILED, ["params"], {}, ["runs show {failed}"]),
    ("runs", "problem", FAILED, ["code"], "nobody.knows_it", ["runs show {failed}"]),
    ("runs", "problem", HELD, ["evidence"], 5, ["runs show {held}"]),
    ("attempts", "steps", "run_id = x'{odd}'", EVERYTHING, [1], ["runs trace {odd}"]),
    ("attempts", "steps", "run_id = x'{odd}'", [0, "startedAt"], "soon", ["runs trace {odd}"]),
    ("held_outputs", "harvest", "TRUE", EVERYTHING, [1], ["runs accept {held}"]),
    ("held_outputs", "harvest", "TRUE", EVERYTHING, {"a": 1}, ["runs accept {held}"]),
    ("held_outputs", "harvest", "TRUE", [0, "records", 0, "values"], 5, ["runs accept {held}"]),
    *(
        ("held_outputs", "harvest", "TRUE", path, wrong, ["runs accept {held}"])
        for path, wrong in (
            ([0, "records", 0, "values"], ["A1", "Lamp", 10]),
            ([0, "records", 0, "values"], ["A1", "Lamp", 10, True, None]),
            ([0, "records", 0, "values"], ["A1", 10, "Lamp", True]),
            ([0, "records", 0, "values", 2], True),
            ([0, "records", 0, "reasons"], []),
            ([0, "records", 0, "texts"], ["A1", "Lamp", "10"]),
            ([0, "records", 0, "quotes"], [[]]),
            ([0, "matches"], [1, 1, 1]),
            ([0, "digest"], "no digest"),
            ([0, "number"], HUGE),
            ([0, "at"], -1),
            ([0, "records", 0, "number"], -1),
            ([0, "records", 0, "values", 2], HUGE),
        )
    ),
    ("failed_pages", "counts", "TRUE", EVERYTHING, {"items": []}, ["runs explain {failed}"]),
    ("failed_pages", "counts", "TRUE", ["matched"], [{}], ["runs explain {failed}"]),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store with history, a schedule, a held output and a failed page; ids of its Runs."""
    home = tmp_path_factory.mktemp("sound")
    store = made.make_store(home)
    made.meet_owner(store, "local", 1000)
    table = Table(store)
    table.take(*MANY)
    table.edit("K1", {"price": 99})
    attempt = table.begin()
    (page,) = pages_of(
        attempt.recipe, [*MANY[:18], {**MANY[18], "title": "Lump"}, {**B, "price": None}]
    ).pages
    odd = table.finish(attempt, Harvest([replace(page, final_url=f"{made.URL}/new")], NATURAL))
    attempt = table.begin()
    broken = pages_of(attempt.recipe, [A], ending=StopReason("check_failed", LOOPS))
    seen = PageSnapshot(1, made.URL, made.URL, 200, "Shop", b"<p>Shop", cut=False)
    failed = table.finish(attempt, replace(broken, seen=[seen]))
    held = table.take(A)
    store.close()
    assert (failed["status"], held["status"]) == ("failed", "held")
    Shell(home)("dataset", "update", "shop", "--status", "active", "--schedule", "30 6 * * *")
    return home, {"odd": odd["id"], "failed": failed["id"], "held": held["id"]}


@pytest.mark.parametrize(("table", "column", "where", "path", "wrong", "needed"), MISSHAPEN)
def test_what_is_wrong_inside_is_one_sentence_with_its_table_and_row_in_every_command(
    sound: tuple[Path, dict[str, str]],
    tmp_path: Path,
    table: str,
    column: str,
    where: str,
    path: Sequence[Any],
    wrong: object,
    needed: Sequence[str],
) -> None:
    home, ran = sound
    shutil.copytree(home, tmp_path / "home")
    hexadecimal = {name: run.replace("-", "") for name, run in ran.items()}
    row = plant(tmp_path / "home", table, column, where.format_map(hexadecimal), path, wrong)
    told = f"in the table {table}, row {row}, the column {column} cannot be read"
    livedata = Shell(tmp_path / "home")
    livedata("check", code=1)
    results = {words: livedata.raw(*words.format_map(ran).split()) for words in COMMANDS}
    odd = {words: result.output for words, result in results.items() if not is_told(result, told)}
    assert odd == {}
    assert [words for words in needed if results[words].exit_code == 0] == []


def test_a_recipe_that_is_no_declaration_is_told_by_what_was_read_with_it(
    sound: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    home, ran = sound
    shutil.copytree(home, tmp_path / "home")
    row = plant(tmp_path / "home", "recipes", "source", "TRUE", EVERYTHING, [1])
    livedata = Shell(tmp_path / "home")
    for words in ("runs explain {failed}", "runs accept {held}"):
        said = livedata.error(*words.format_map(ran).split())
        assert f"in the table recipes, row {row}, the column source cannot be read" in said


def is_told(result: Result, told: str) -> bool:
    """Whether a command did its work, or says in one sentence what it cannot read."""
    if result.exit_code == 0:
        return result.exception is None
    said = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    return result.exit_code == 1 and said == [f"Error: The store is damaged: {told}."]


def plant(
    home: Path, table: str, column: str, where: str, path: Sequence[Any], wrong: object
) -> str:
    """Put `wrong` at a path of the JSON of one row; the row as messages name it."""
    key = "run_id" if table in {"held_outputs", "failed_pages"} else "id"
    with closing(sqlite3.connect(home / "livedata.db")) as driver, driver:
        row, stored = driver.execute(
            f"SELECT {key}, {column} FROM {table} WHERE {where} ORDER BY {key} LIMIT 1"
        ).fetchone()
        packed = isinstance(stored, bytes)
        value = orjson.loads(zlib.decompress(stored)) if packed else load_compressed(stored or "{}")
        written = json.dumps(replaced(value, path, wrong)).encode()
        values = (zlib.compress(written) if packed else written.decode(), row)
        driver.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", values)
    return format_uuid(row)


def replaced(value: Any, path: Sequence[Any], wrong: object) -> Any:
    """A JSON value with something else at a path."""
    if not path:
        return wrong
    parent = value
    for step in path[:-1]:
        parent = parent[step]
    if wrong is NOTHING:
        del parent[path[-1]]
    else:
        parent[path[-1]] = wrong
    return value
