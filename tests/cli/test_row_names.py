"""At a shell a row is called by its name, with its key beside it; programs see no difference."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cli.shell import lines
from tests.cli.test_output import on_terminal
from tests.made import COLUMNS, ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

LAMP, CHAIR, MUG = ITEMS
MOVED = [{**LAMP, "price": 8}, {**CHAIR, "title": None}]
UPDATE = ("dataset", "update", "shop", "--label-column")


@pytest.fixture(autouse=True)
def shop(store: Store) -> DatasetId:
    dataset = make_dataset(store)
    take(store, dataset)
    return dataset


def named_by(livedata: Shell) -> list[str]:
    said = livedata.out("dataset", "show", "shop").splitlines()
    return [line.split(maxsplit=2)[2] for line in said if line.startswith("label column")]


def test_the_column_that_names_rows_is_shown_chosen_and_given_back(livedata: Shell) -> None:
    assert named_by(livedata) == ["title"]
    before = livedata.json("dataset", "show", "shop")
    assert "label column    note" in livedata.out(*UPDATE, "note")
    assert named_by(livedata) == ["note"]
    after = livedata.json("dataset", "show", "shop")
    assert {**after, "updatedAt": ""} == {**before, "updatedAt": ""}
    for default in ("none", ""):
        livedata(*UPDATE, "note")
        livedata(*UPDATE, default)
        assert named_by(livedata) == ["title"]


def test_a_dataset_without_a_text_says_that_its_keys_name_rows(
    livedata: Shell, store: Store
) -> None:
    make_dataset(store, name="plain", columns=[COLUMNS[0], COLUMNS[2]])
    assert "label column    none: rows are named by their keys" in livedata.out(
        "dataset", "show", "plain"
    )


@pytest.mark.parametrize(
    ("column", "why"),
    [
        ("nothing", "There is no column 'nothing'. There is: sku, title, price, stock, note."),
        ("sku", "sku is a part of the key, which stands beside each name already; choose a text"),
        ("price", "price is a number column, and rows are named by text; choose a text column: t"),
        ("stock", "stock is a boolean column, and rows are named by text; choose a text column: "),
    ],
)
def test_a_column_that_names_no_row_is_one_sentence_and_nothing_changes(
    livedata: Shell, column: str, why: str
) -> None:
    error = livedata.error(*UPDATE, column, "--name", "other")
    assert error.startswith(f"Error: {why}")
    assert len(error.splitlines()) == 1
    assert named_by(livedata) == ["title"]


def test_a_column_that_is_added_may_name_rows_at_once(livedata: Shell) -> None:
    livedata(*UPDATE, "mine", "--add-column", "mine:string")
    assert named_by(livedata) == ["mine"]


def test_a_list_begins_with_names_and_has_the_keys_beside_them(
    livedata: Shell, store: Store, shop: DatasetId
) -> None:
    take(store, shop, MOVED)
    heading, *rows = lines(livedata.out("rows", "list", "shop"))
    assert heading == ["title", "row", "status", "price", "stock", "note", "updated"]
    assert sorted(row[:3] for row in rows) == [
        *(["B2", "changed", "25.5"], ["Lamp", "A1", "changed"], ["Mug", "C3", "gone"])
    ]
    livedata("rows", "edit", "shop", "A1", "title=A1")
    listed = lines(livedata.out("rows", "list", "shop"))
    assert ["A1", "changed", "8"] in [row[:3] for row in listed]
    livedata(*UPDATE, "note")
    heading, *_ = lines(livedata.out("rows", "list", "shop"))
    assert heading == ["note", "row", "status", "title", "price", "stock", "updated"]


def test_a_list_of_another_moment_begins_with_names_too(livedata: Shell) -> None:
    heading, first, *_ = lines(livedata.out("rows", "list", "shop", "--at", "1"))
    assert (heading[:3], first[:3]) == (["title", "row", "status"], ["Lamp", "A1", "new"])


def test_on_a_terminal_the_key_is_dim_beside_the_name(livedata: Shell) -> None:
    shown = on_terminal(livedata, "rows", "list", "shop")
    assert re.search("^Lamp {2,}\x1b\\[2mA1 *\x1b\\[0m", shown, re.MULTILINE)
    assert "Lamp \x1b[2m(A1)\x1b[0m  sku: A1" in on_terminal(livedata, "changes", "shop")
    assert "\x1b[2m" not in on_terminal(livedata, "rows", "list", "shop", NO_COLOR="1")


def test_a_row_says_its_name_and_its_key(livedata: Shell) -> None:
    first, second, *_ = lines(livedata.out("rows", "show", "shop", "A1"))
    assert (first, second) == (["name", "Lamp"], ["row", "A1"])
    livedata("rows", "edit", "shop", "A1", "title=")
    first, second, *_ = lines(livedata.out("rows", "show", "shop", "A1"))
    assert (first[0], first[1], second[0]) == ("row", "A1", "id")


def test_changes_call_a_row_as_it_was_called_then(
    livedata: Shell, store: Store, shop: DatasetId
) -> None:
    take(store, shop, [{**LAMP, "title": "Lamp II"}, {**CHAIR, "title": None}])
    told = [line.split("Z  ")[1] for line in livedata.out("changes", "shop").splitlines()]
    assert told[0] == "created   Lamp (A1)  sku: A1, title: Lamp, price: 10, stock: true"
    assert told[3:] == [
        "updated   Lamp II (A1)  title: Lamp → Lamp II",
        "updated   B2  title: Chair → (empty)",
        "missing   Mug (C3)",
    ]
    history = livedata.out("rows", "show", "shop", "A1", "--history")
    assert "updated   Lamp II (A1)  title" in history


def test_a_difference_calls_a_row_by_its_name(
    livedata: Shell, store: Store, shop: DatasetId
) -> None:
    take(store, shop, MOVED)
    assert livedata.out("dataset", "diff", "shop", "3").splitlines() == [
        "changed  Lamp (A1)  price: 10 → 8",
        "changed  B2  title: Chair → (empty)",
        "gone     Mug (C3)",
    ]
    assert [each["row"] for each in livedata.json("dataset", "diff", "shop", "3")] == [
        *("A1", "B2", "C3")
    ]


def test_what_is_new_of_all_datasets_calls_rows_by_their_names(livedata: Shell) -> None:
    said = livedata.out("changes", "--all", "--since", "2020-01-01T00:00:00Z")
    assert "new      Lamp (A1)  sku: A1" in said


def test_an_edit_says_which_row_it_has_changed_by_its_name(livedata: Shell) -> None:
    assert livedata.out("rows", "edit", "shop", "A1", "price=12") == "Lamp (A1)  price: 10 → 12\n"
    assert livedata.out("rows", "reset", "shop", "A1", "price") == "Lamp (A1)  price: 12 → 10\n"


def test_edits_whose_source_has_moved_are_listed_by_name(
    livedata: Shell, store: Store, shop: DatasetId
) -> None:
    livedata("rows", "edit", "shop", "A1", "price=12")
    take(store, shop, [{**LAMP, "price": 11}, CHAIR, MUG])
    heading, line = lines(livedata.out("rows", "list", "shop", "--stale"))
    assert (heading[:3], line[:4]) == (
        ["title", "row", "column"],
        ["Lamp", "A1", "price", "12"],
    )


def test_a_row_is_named_in_a_command_by_its_key_or_its_id_alone(livedata: Shell) -> None:
    for name in ("Lamp", "Lamp (A1)"):
        assert "There is no row" in livedata.error("rows", "show", "shop", name)


@pytest.mark.parametrize(
    "read",
    [
        ("rows", "list", "shop", "--json"),
        ("rows", "list", "shop", "--at", "1", "--json"),
        ("rows", "show", "shop", "A1", "--json"),
        ("changes", "shop", "--json"),
        ("changes", "shop", "--names"),
        ("dataset", "diff", "shop", "0", "--json"),
        ("dataset", "export", "shop"),
        ("dataset", "export", "shop", "--format", "jsonl"),
    ],
    ids=" ".join,
)
def test_programs_read_what_they_read_before_whatever_names_rows(
    livedata: Shell, read: tuple[str, ...]
) -> None:
    before = livedata.out(*read)
    livedata(*UPDATE, "note")
    assert livedata.out(*read) == before
