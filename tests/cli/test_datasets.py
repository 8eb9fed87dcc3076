from __future__ import annotations

import csv
import io
import json
import re
import shlex
from typing import TYPE_CHECKING

import orjson
import pytest

from livedata.cli import cli
from livedata.model import ids
from livedata.services import runs
from livedata.store import rows, schedules
from tests.made import COLUMNS, ITEMS, declared, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


@pytest.fixture
def source(tmp_path: Path) -> str:
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(declared()))
    return str(path)


def test_create_prints_name_id_and_the_next_command(livedata: Shell, source: str) -> None:
    result = livedata("dataset", "create", source)
    assert result.stdout.splitlines()[0] == "name     shop"
    assert "livedata run shop\n" in result.stdout
    assert "first Run" in result.stderr


def test_create_for_another_owner_proposes_that_owner(livedata: Shell, source: str) -> None:
    shown = livedata.out("dataset", "create", source, "--owner", "alice")
    assert "livedata run shop --owner alice" in shown
    assert livedata.json("usage", "--owner", "alice")["balance"] == 1000


def test_a_long_ledger_is_shown_in_parts(livedata: Shell) -> None:
    for given in ("1", "2", "3"):
        livedata.out("credits", "grant", given)
    shown = livedata("usage", "--json", "--limit", "2")
    first = json.loads(shown.stdout)["ledger"]
    assert [entry["credits"] for entry in first] == [3, 2]
    last = first[-1]["createdAt"]
    assert f"There are earlier entries; --before {last} shows them." in shown.stderr
    rest = livedata.json("usage", "--before", last)["ledger"]
    assert [entry["credits"] for entry in rest] == [1, 1_000_000]


def test_create_warns_below_ten_runs_worth(livedata: Shell, tmp_path: Path) -> None:
    body = declared()
    body["source"] = {
        **declared()["source"],  # type: ignore[dict-item]
        "maxPages": 50,
        "pagination": {"kind": "next-link", "selector": "a.next"},
    }
    path = tmp_path / "many.json"
    path.write_text(json.dumps(body))
    livedata("credits", "grant", "-600", "--owner", "bob")
    warning = livedata("dataset", "create", str(path), "--owner", "bob").stderr
    assert "livedata credits grant 500 --owner bob" in warning


def test_an_unchanged_source_is_nothing_to_revise_and_is_not_pinned(
    livedata: Shell, source: str, tmp_path: Path
) -> None:
    livedata("dataset", "create", source)
    before = livedata.json("dataset", "show", "shop")
    again = tmp_path / "again.toml"
    again.write_text(livedata.out("dataset", "source", "shop"))
    for path in (source, str(again)):
        said = livedata("dataset", "revise", "shop", path)
        assert said.stderr.splitlines() == [
            f"Nothing to revise: {path} says what the recipe of shop says already."
        ]
        assert livedata.json("dataset", "revise", "shop", path) == before
    assert livedata.json("dataset", "show", "shop") == before
    again.write_text(re.sub(r"maxItems = \d+", "maxItems = 7", again.read_text()))
    said = livedata("dataset", "revise", "shop", str(again))
    assert said.stderr.startswith("Pinned recipe version 2;")


@pytest.mark.parametrize("act", ["create", "revise"])
def test_a_source_that_is_marked_as_not_ready_is_refused_until_the_mark_is_deleted(
    livedata: Shell, source: str, tmp_path: Path, act: str
) -> None:
    livedata("dataset", "create", source)
    text = livedata.out("dataset", "source", "shop").replace('"shop"', '"other"')
    top = "# What livedata reads.\n"
    marked = tmp_path / "a source.toml"
    marked.write_text(f"{top}# NOT READY. A Run needs a key, and none is there.\n\n{text}")
    words = ("dataset", "create") if act == "create" else ("dataset", "revise", "shop")
    assert livedata.error(*words, str(marked)) == (
        f"Error: {marked}:2: this source is marked as not ready: A Run needs a key, and none is "
        f"there. Edit it until livedata preview '{marked}' is right, then delete line 2 of the "
        "file.\n"
    )
    assert [each["name"] for each in livedata.json("dataset", "list")] == ["shop"]
    marked.write_text(f"{top}\n{text}# NOT READY. A comment elsewhere marks nothing.\n")
    livedata(*words, str(marked))


def test_a_wrong_source_says_every_place(livedata: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('name = ""\ncolour = "red"\n')
    message = livedata.error("dataset", "create", str(path))
    assert message.startswith("Error: ")
    assert f"{path}:1: name" in message
    assert f"\n  {path}:2: " in message
    assert "unknown property colour" in message


def test_a_missing_source_is_an_error(livedata: Shell) -> None:
    assert "no such file" in livedata.error("dataset", "create", "nothing.toml")


def test_a_name_is_taken_once(livedata: Shell, source: str) -> None:
    livedata("dataset", "create", source)
    assert "already" in livedata.error("dataset", "create", source)


def test_list_on_a_fresh_store_is_empty(livedata: Shell) -> None:
    assert livedata.json("dataset", "list") == []
    assert "livedata init" in livedata("dataset", "list").stderr


def test_list_has_a_line_per_dataset(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    heading, line = livedata.out("dataset", "list").splitlines()
    assert heading.split()[:3] == ["name", "status", "schedule"]
    assert line.split()[:4] == ["shop", "draft", "3", "succeeded"]
    assert livedata.json("dataset", "list", "--limit", "1")[0]["rowCount"] == 3


@pytest.mark.parametrize("most", ["0", "101"])
def test_limit_has_the_bounds_of_the_api(livedata: Shell, most: str) -> None:
    livedata.error("dataset", "list", "--limit", most, code=2)


def test_a_dataset_is_named_by_name_id_or_beginning(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    dataset = livedata.json("dataset", "show", "shop")
    assert livedata.json("dataset", "show", dataset["id"]) == dataset
    assert livedata.json("dataset", "show", dataset["id"][-8:]) == dataset
    assert "There is: shop" in livedata.error("dataset", "show", "shpo")


def test_an_owner_never_sees_another_s(livedata: Shell, store: Store) -> None:
    make_dataset(store, owner="alice")
    livedata.error("dataset", "show", "shop")
    assert livedata.json("dataset", "show", "shop", "--owner", "alice")["name"] == "shop"


def test_update_changes_what_is_given_and_keeps_the_rest(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    changed = livedata.json(
        "dataset", "update", "shop", "--name", "store", "--question", "What?", "--status", "active",
        "--schedule", "0 6 * * *", "--label", "price=Preis", "--describe", "price=In euros",
        "--add-column", "seen:date",
    )  # fmt: skip
    assert (changed["name"], changed["question"]) == ("store", "What?")
    assert (changed["status"], changed["schedule"]) == ("active", "0 6 * * *")
    price, seen = changed["columns"][2], changed["columns"][-1]
    assert (price["label"], price["description"]) == ("Preis", "In euros")
    assert (seen["name"], seen["type"], seen["ownership"]) == ("seen", "date", "user")
    assert changed["schemaVersion"] == 2
    cleared = livedata.json(
        "dataset", "update", "store", "--schedule", "none", "--question", "none"
    )
    assert (cleared["schedule"], cleared["question"]) == (None, None)
    assert cleared["columns"] == changed["columns"]


def test_a_schedule_fires_in_the_time_zone_of_the_installation(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dataset(store)
    change = ("dataset", "update", "shop", "--status", "active", "--schedule")
    for zone, hour, fire in (("UTC", 6, "06:30:00"), ("Asia/Kolkata", 7, "02:00:00")):
        monkeypatch.setenv("LIVEDATA_TIMEZONE", zone)
        livedata(*change, f"30 {hour} * * *")
        with store.reading() as reader:
            fires = reader.value("SELECT next_run_at FROM datasets")
        assert ids.format_timestamp(fires).partition("T")[2].startswith(fire)


@pytest.mark.parametrize(
    ("status", "schedule", "told"),
    [
        ("active", "30 6 * * *", r"\d{4}-\d\d-\d\dT06:30:00Z"),
        ("active", "none", "whenever you run `livedata run`"),
        ("draft", "30 6 * * *", "none: the dataset is draft"),
        ("paused", "30 6 * * *", "none: the dataset is paused"),
    ],
)
def test_the_next_run_is_told(
    livedata: Shell, store: Store, status: str, schedule: str, told: str
) -> None:
    make_dataset(store)
    livedata("dataset", "update", "shop", "--status", status, "--schedule", schedule)
    shown = livedata.out("dataset", "show", "shop")
    assert re.search(rf"^next run +{told}$", shown, re.MULTILINE), shown
    listed = livedata.out("dataset", "list")
    assert bool(re.search("T06:30:00Z", listed)) is told.startswith(r"\d")


def test_a_fire_that_another_version_skipped_is_told_with_its_own_word(
    livedata: Shell, store: Store
) -> None:
    dataset = make_dataset(store)
    with store.writing() as writer:
        schedules.skip(writer, dataset, ids.Micros(0), "too_hot")
    assert "1970-01-01T00:00:00Z (too_hot)" in livedata.out("dataset", "show", "shop")


def test_update_says_what_is_wrong(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    assert "at least one" in livedata.error("dataset", "update", "shop", code=2)
    assert "colour" in livedata.error("dataset", "update", "shop", "--label", "colour=x")
    assert "COL=TEXT" in livedata.error("dataset", "update", "shop", "--label", "price")
    assert "NAME:TYPE" in livedata.error("dataset", "update", "shop", "--add-column", "x")
    assert "schedule" in livedata.error("dataset", "update", "shop", "--schedule", "every day")


def test_source_is_read_back_equal(livedata: Shell, store: Store, tmp_path: Path) -> None:
    make_dataset(store)
    path = tmp_path / "again.toml"
    path.write_text(livedata.out("dataset", "source", "shop"))
    livedata("dataset", "create", str(path), "--owner", "alice")
    mine = livedata.json("dataset", "source", "shop")
    assert livedata.json("dataset", "source", "shop", "--owner", "alice") == mine


def test_a_source_that_is_no_declaration_is_told_in_a_sentence(
    livedata: Shell, store: Store
) -> None:
    make_dataset(store)
    with store.writing() as writer:
        writer.execute("UPDATE recipes SET source = '[]'")
    said = livedata.error("dataset", "source", "shop")
    assert "The source of shop is not a version-1 declaration" in said
    assert livedata.json("dataset", "source", "shop")["source"] == []


def test_delete_asks_and_keeps_the_ledger(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    assert "3 rows" in livedata("dataset", "delete", "shop", stdin="n\n", code=1).stderr
    livedata("dataset", "delete", "shop", stdin="y\n")
    assert livedata.json("dataset", "list") == []
    assert [entry["kind"] for entry in livedata.json("usage")["ledger"]] == ["charge", "grant"]


def test_delete_is_refused_while_a_run_is_open(livedata: Shell, store: Store) -> None:
    runs.enqueue(store, "local", make_dataset(store))
    assert "open" in livedata.error("dataset", "delete", "shop", "--yes", code=7)


def test_export_writes_csv_with_a_heading(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, ITEMS[:2])
    rows = list(csv.DictReader(io.StringIO(livedata.out("dataset", "export", "shop"))))
    assert list(rows[0]) == [
        "rowKey", "status", "presence", "sku", "title", "price", "stock", "note"
    ]  # fmt: skip
    assert [(row["rowKey"], row["price"], row["stock"]) for row in rows] == [
        ("A1", "10", "true"),
        ("B2", "25.5", "false"),
        ("C3", "", "true"),
    ]
    assert (rows[2]["status"], rows[2]["presence"]) == ("gone", "missing")
    assert len(livedata.out("dataset", "export", "shop", "--present").splitlines()) == 3


def test_export_writes_json_lines(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    shown = livedata.out("dataset", "export", "shop", "--format", "jsonl")
    first, *_, last = [orjson.loads(line) for line in shown.splitlines()]
    assert first == {
        "rowKey": "A1", "status": "new", "presence": "present",
        "sku": "A1", "title": "Lamp", "price": 10, "stock": True, "note": None,
    }  # fmt: skip
    assert last["price"] is None


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
def test_an_export_may_carry_when_each_row_was_seen_and_changed(
    livedata: Shell, store: Store, file_format: str
) -> None:
    take(store, make_dataset(store))
    options = ("dataset", "export", "shop", "--format", file_format)
    names = ["observedAt", "updatedAt"]
    assert not any(name in livedata.out(*options) for name in names)
    shown = livedata.out(*options, "--times")
    if file_format == "csv":
        exported = list(csv.DictReader(io.StringIO(shown)))
    else:
        exported = [orjson.loads(line) for line in shown.splitlines()]
    assert list(exported[0])[-2:] == names
    rows = {row["rowKey"]: row for row in livedata.json("rows", "list", "shop")}
    assert len(exported) == len(rows) > 1
    for row in exported:
        assert [row[name] for name in names] == [rows[row["rowKey"]][name] for name in names]


def test_a_column_that_is_called_as_a_time_keeps_its_name(livedata: Shell, store: Store) -> None:
    columns = [COLUMNS[0], {"name": "updatedAt", "type": "string"}]
    take(store, make_dataset(store, columns=columns), [{"sku": "A1", "updatedAt": "today"}])
    (row,) = csv.DictReader(io.StringIO(livedata.out("dataset", "export", "shop", "--times")))
    assert row["updatedAt"] == "today"
    assert row["_updatedAt"] > "2000"


@pytest.mark.parametrize("options", [("--format", "sqlite"), ("--format", "datapackage")])
def test_times_are_for_what_is_a_table_of_rows_alone(
    livedata: Shell, store: Store, tmp_path: Path, options: tuple[str, ...]
) -> None:
    take(store, make_dataset(store))
    file = tmp_path / "out"
    said = livedata.error("dataset", "export", "shop", "--times", *options, "-o", str(file), code=2)
    assert "--times is for other formats: a" in said
    assert not file.exists()


def test_export_leaves_cells_as_the_site_has_them(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), [{"sku": "=1+1", "title": 'a "b", c\x1b[31m'}])
    (row,) = csv.DictReader(io.StringIO(livedata.out("dataset", "export", "shop")))
    assert (row["sku"], row["title"]) == ("=1+1", 'a "b", c\x1b[31m')


def test_a_column_may_be_called_as_what_stands_before_it(livedata: Shell, store: Store) -> None:
    columns = [COLUMNS[0], {"name": "status", "type": "string"}]
    take(store, make_dataset(store, columns=columns), [{"sku": "A1", "status": "sold"}])
    (row,) = csv.DictReader(io.StringIO(livedata.out("dataset", "export", "shop")))
    assert (row["_status"], row["status"]) == ("new", "sold")


def test_an_exported_file_is_complete_or_not_there(
    livedata: Shell, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(store, make_dataset(store))
    target = tmp_path / "out.csv"
    livedata("dataset", "export", "shop", "-o", str(target))
    before = target.read_bytes()
    assert before.count(b"\n") == 4

    def broken(*_: object) -> object:
        yield from ()
        raise OSError(28, "No space left on device")

    again = ("dataset", "export", "shop", "--force", "-o", str(target))
    monkeypatch.setattr(rows, "in_order", broken)
    assert "No space left" in livedata.error(*again)
    assert target.read_bytes() == before
    assert [path.name for path in tmp_path.glob("*out*")] == ["out.csv"]


def test_an_export_to_nowhere_is_an_error(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    message = livedata.error("dataset", "export", "shop", "-o", "/no/where.csv")
    assert message == "Error: /no/where.csv cannot be written: there is no folder /no.\n"


def test_export_says_how_many_rows_it_wrote_and_keeps_what_is_there(
    livedata: Shell, store: Store, tmp_path: Path
) -> None:
    take(store, make_dataset(store), ITEMS[:1])
    target = tmp_path / "out.csv"
    again = ("dataset", "export", "shop", "-o", str(target))
    assert livedata(*again).stderr == f"Wrote 1 row to {target}.\n"
    target.write_text("mine")
    assert "--force replaces it" in livedata.error(*again)
    assert target.read_text() == "mine"
    livedata(*again, "--force")
    assert target.read_text() != "mine"


def test_a_declined_delete_ends_its_line(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store), ITEMS[:1])
    message = livedata("dataset", "delete", "shop", stdin="n\n", code=1).stderr
    assert "1 row and all its history" in message
    assert message.endswith("\nNothing was deleted.\n")


@pytest.mark.parametrize("name", [" shop", "shop\t", "sh\nop", "\x1b[1m", "a\u2028b"])
def test_a_name_that_cannot_be_typed_is_refused(
    livedata: Shell, store: Store, tmp_path: Path, name: str
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(declared(name=name)))
    assert ": name must not" in livedata.error("dataset", "create", str(path))
    make_dataset(store)
    assert "name must not" in livedata.error("dataset", "update", "shop", "--name", name)


def test_a_name_that_is_an_id_is_refused(livedata: Shell, store: Store) -> None:
    make_dataset(store)
    ident = livedata.json("dataset", "show", "shop")["id"]
    message = livedata.error("dataset", "update", "shop", "--name", ident.upper())
    assert "a name that is an id would hide the dataset with that id" in message


@pytest.mark.parametrize("name", ["-lead", "--json", "two words", "a'b;c"])
def test_a_proposed_command_can_be_pasted(livedata: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(declared(name=name)))
    line = livedata.out("dataset", "create", str(path), "--owner", "two words").splitlines()[-1]
    words = shlex.split(line)
    with cli.commands["run"].make_context("run", words[2:]) as context:
        assert context.params["datasets"] == (name,)
        assert context.params["owner"] == "two words"


def test_an_unknown_dataset_is_answered_with_a_near_one(livedata: Shell, store: Store) -> None:
    for number in range(6):
        make_dataset(store, name=f"list {number}")
    make_dataset(store, name="shop")
    message = livedata.error("dataset", "show", "shpo")
    assert "did you mean 'shop'?" in message
    assert message.endswith(", list 4 and 2 more.\n")


def test_without_any_dataset_the_answer_is_how_to_make_one(livedata: Shell) -> None:
    assert livedata.error("dataset", "show", "shop").splitlines() == [
        "Error: There is no dataset 'shop', and no other one yet.",
        "  Write a source to start from: livedata init",
    ]


@pytest.mark.parametrize("schedule", ["bad", "every day at six", "* * * * * *"])
def test_a_wrong_schedule_is_answered_with_an_example_in_any_zone(
    livedata: Shell, store: Store, monkeypatch: pytest.MonkeyPatch, schedule: str
) -> None:
    make_dataset(store)
    monkeypatch.setenv("LIVEDATA_TIMEZONE", "Europe/Berlin")
    message = livedata.error("dataset", "update", "shop", "--schedule", schedule)
    assert "five fields" in message
    assert '"30 6 * * *" is every day at 06:30' in message
    assert "UTC" not in message


def test_several_problems_are_counted_and_listed_once_each(livedata: Shell, tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text('name = ""\ncolour = "red"\n')
    message = livedata.error("dataset", "create", str(path)).splitlines()
    assert message[0] == f"Error: there are {len(message) - 1} problems:"
    assert len(set(message)) == len(message)
