from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from livedata.cli.rows.show import sparkline
from livedata.model.ids import DatasetId
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


@pytest.fixture(autouse=True)
def shop(store: Store) -> DatasetId:
    dataset = make_dataset(store)
    take(store, dataset)
    return dataset


def cell(livedata: Shell, name: str) -> Any:
    columns = livedata.json("dataset", "show", "shop")["columns"]
    field = next(column["id"] for column in columns if column["name"] == name)
    return livedata.json("rows", "show", "shop", "A1")["data"][field]


def test_list_shows_rows_by_column_name(livedata: Shell) -> None:
    heading, *lines = livedata.out("rows", "list", "shop").splitlines()
    assert heading.split() == ["title", "row", "status", "price", "stock", "note", "updated"]
    assert sorted(line.split()[1] for line in lines) == ["A1", "B2", "C3"]


MANY = [{"sku": f"S{number * 7919 % 1000:03}"} for number in range(300)]
"""More items than a millisecond has room for, in no order of their keys."""


def test_rows_of_one_run_keep_the_order_of_the_site(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store, name="many"), MANY)
    keys = [item["sku"] for item in MANY]
    rows = livedata.json("rows", "list", "many", "--limit", "500")
    assert [row["rowKey"] for row in rows] == keys
    assert [row["rowKey"] for row in livedata.json("rows", "list", "many", "--limit", "3")] == keys[
        :3
    ]
    exported = livedata.out("dataset", "export", "many").splitlines()[1:]
    assert [line.partition(",")[0] for line in exported] == keys


def test_what_moved_last_comes_first_and_new_rows_last_in_an_export(
    livedata: Shell, store: Store, shop: DatasetId
) -> None:
    take(store, shop, [{"sku": "D4"}, *ITEMS[1:], {"sku": "A0"}, ITEMS[0]])
    listed = [row["rowKey"] for row in livedata.json("rows", "list", "shop")]
    assert listed == ["D4", "A0", "A1", "B2", "C3"]
    exported = livedata.out("dataset", "export", "shop").splitlines()[1:]
    assert [line[:2] for line in exported] == ["A1", "B2", "C3", "D4", "A0"]


def test_list_takes_the_filters_of_the_api(livedata: Shell, store: Store, shop: DatasetId) -> None:
    take(store, shop, ITEMS[:2])
    gone = livedata.json("rows", "list", "shop", "--status", "gone", "--status", "changed")
    assert [row["rowKey"] for row in gone] == ["C3"]
    later = livedata.json("rows", "list", "shop", "--since", gone[0]["updatedAt"])
    assert [row["rowKey"] for row in later] == ["C3"]
    assert "--limit" in livedata("rows", "list", "shop", "--limit", "1").stderr
    assert len(livedata.json("rows", "list", "shop", "--limit", "1")) == 1


@pytest.mark.parametrize("since", ["yesterday", "2026-01-31T08:00:00"])
def test_since_needs_a_zone(livedata: Shell, since: str) -> None:
    assert "zone" in livedata.error("rows", "list", "shop", "--since", since, code=2)


def test_show_says_where_each_cell_was_read(livedata: Shell) -> None:
    shown = livedata.out("rows", "show", "shop", "A1")
    assert "price: 10\n  read as: 10\n  on: https://shop.example/list at 20" in shown
    assert "page digest: sha256 " in shown
    assert "note: (empty)\n  your own column" in shown


def test_a_row_shows_how_its_numbers_moved(livedata: Shell, store: Store, shop: DatasetId) -> None:
    for price in (40, 17.5, None):
        take(store, shop, [{**ITEMS[0], "price": price}, *ITEMS[1:]])
    shown = livedata.out("rows", "show", "shop", "A1", "--history")
    assert "  moved: ▁█▃   10 → (empty), 4 values since 20" in shown
    assert "history:\n     1  20" in shown
    assert shown.splitlines()[-1].endswith("updated   Lamp (A1)  price: 17.5 → (empty)")
    assert shown.count("moved: ") == 1
    assert "moved" not in livedata.out("rows", "show", "shop", "A1")
    history = livedata.json("rows", "show", "shop", "A1", "--history")["history"]
    assert [change["sequence"] for change in history] == [1, 4, 5, 6]


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ([], ""),
        ([5], "▅"),
        ([3, 3, 3], "▅▅▅"),
        ([1, 2, 3, 4, 5, 6, 7, 8], "▁▂▃▄▅▆▇█"),
        ([-1, None, 1.0], "▁ █"),
        ([None], " "),
        ([0] * 60 + [1], "▁" * 39 + "█"),
        ([-1.7e308, 1.7e308], "▁█"),
    ],
)
def test_a_sparkline_goes_from_the_least_to_the_most(values: list[float | None], bars: str) -> None:
    assert sparkline(values) == bars


def test_show_says_why_a_cell_is_empty(livedata: Shell) -> None:
    shown = livedata.out("rows", "show", "shop", "C3")
    assert "price: (empty)\n  empty because: not_found" in shown


def test_show_names_a_row_by_its_id_too(livedata: Shell) -> None:
    row = livedata.json("rows", "show", "shop", "A1")
    assert livedata.json("rows", "show", "shop", row["id"]) == row
    assert "no row" in livedata.error("rows", "show", "shop", "nothing")


@pytest.mark.parametrize(
    ("edit", "value"),
    [
        ("price=12", 12),
        ("price=9.50", 9.5),
        ("price=", None),
        ("stock=false", False),
        ("title=a=b", "a=b"),
        ("note=mine", "mine"),
    ],
)
def test_edit_reads_a_value_by_its_column(
    livedata: Shell, edit: str, value: str | float | None
) -> None:
    livedata("rows", "edit", "shop", "A1", edit)
    assert cell(livedata, edit.partition("=")[0]) == value


def test_edit_prints_before_and_after(livedata: Shell) -> None:
    shown = livedata.out("rows", "edit", "shop", "A1", "price=12", "note=x")
    assert shown == "Lamp (A1)  price: 10 → 12\nLamp (A1)  note: (empty) → x\n"
    assert "edited by hand; the source says: 10" in livedata.out("rows", "show", "shop", "A1")


def test_reset_shows_the_source_s_value_again(livedata: Shell) -> None:
    livedata("rows", "edit", "shop", "A1", "price=12")
    assert livedata.out("rows", "reset", "shop", "A1", "price") == "Lamp (A1)  price: 12 → 10\n"
    assert "not overridden" in livedata.error("rows", "reset", "shop", "A1", "price")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ("price=cheap", "price must be a number"),
        ("price=nan", "price must be a number"),
        ("price=1e400", "price must be a number"),
        ("stock=maybe", "stock must be true or false"),
        ("sku=Z9", "sku is a part of the row's key"),
        ("colour=red", "There is: sku, title, price, stock, note"),
        ("price", "FIELD=VALUE"),
    ],
)
def test_edit_says_what_is_wrong_by_the_column_s_name(
    livedata: Shell, edit: str, message: str
) -> None:
    assert message in livedata.error("rows", "edit", "shop", "A1", edit)


def test_a_column_is_given_once(livedata: Shell) -> None:
    assert "twice" in livedata.error("rows", "edit", "shop", "A1", "price=1", "price=2")


def test_an_edit_that_is_repeated_is_done_once(livedata: Shell) -> None:
    revision = livedata.json("rows", "show", "shop", "A1")["revisionId"]
    edit = ("rows", "edit", "shop", "A1", "price=12", "--request-id", "r", "--revision", revision)
    first = livedata.json(*edit)
    livedata("rows", "edit", "shop", "A1", "price=13")
    assert livedata.json(*edit) == first
    assert cell(livedata, "price") == 13


def test_an_edit_imports_neither_what_validates_a_request_nor_what_makes_a_store(
    livedata: Shell,
) -> None:
    edit = livedata.modules_after("rows", "edit", "shop", "A1", "price=12")
    assert not edit & {"alembic", "pydantic", "scrapy", "sqlalchemy"}


def test_an_edit_of_an_old_revision_is_refused(livedata: Shell) -> None:
    revision = livedata.json("rows", "show", "shop", "A1")["revisionId"]
    livedata("rows", "edit", "shop", "A1", "price=13")
    message = livedata.error("rows", "edit", "shop", "A1", "price=12", "--revision", revision)
    assert "has changed since" in message


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--request-id", "", "--request-id must have 1 to 128 characters, not 0."),
        ("--request-id", "r" * 129, "--request-id must have 1 to 128 characters, not 129."),
        ("--revision", "newest", '--revision must be a UUID, not "newest".'),
    ],
)
def test_an_option_that_no_request_may_have_is_refused(
    livedata: Shell, option: str, value: str, message: str
) -> None:
    assert message in livedata.error("rows", "edit", "shop", "A1", "price=12", option, value)
    assert cell(livedata, "price") == 10


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("note",), "note is your own column"),
        (("price",), "price is not overridden, so there is nothing to reset"),
        (("title", "price"), "  price is not overridden"),
    ],
)
def test_reset_says_what_is_wrong_by_the_column_s_name(
    livedata: Shell, fields: tuple[str, ...], message: str
) -> None:
    said = livedata.error("rows", "reset", "shop", "A1", *fields)
    assert message in said
    assert "resetFieldIds" not in said


@pytest.mark.parametrize("number", ["9000000000000000000000000", str(2**53 + 1), "1" * 5000])
def test_a_number_that_is_not_exact_is_refused(livedata: Shell, number: str) -> None:
    message = livedata.error("rows", "edit", "shop", "A1", f"price={number}")
    assert "price must be a number of at most 2^53" in message


def test_a_column_is_named_by_an_unambiguous_end_of_its_id(livedata: Shell) -> None:
    columns = livedata.json("dataset", "show", "shop")["columns"]
    price = next(column["id"] for column in columns if column["name"] == "price")
    shortest = next(
        price[:n]
        for n in range(1, 37)
        if sum(column["id"].startswith(price[:n]) for column in columns) == 1
    )
    livedata("rows", "edit", "shop", "A1", f"{shortest}=12")
    assert cell(livedata, "price") == 12
    message = livedata.error("rows", "edit", "shop", "A1", f"{price[:2]}=12")
    assert f"{price[:2]!r} is a part of" in message
    assert "write more of it" in message
