"""``rows list --at``, ``dataset export --at`` and ``dataset diff``."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import orjson
import pytest

from tests.cli.test_output import on_terminal
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

CHEAPER = ({**ITEMS[0], "price": 8}, *ITEMS[1:])
EXAMPLES = (
    "write a date and time with its zone (2026-03-01T08:00:00Z), a day (2026-03-01), a sequence "
    "(120) or the id of a Run of 'shop'."
)


@pytest.fixture
def shop(store: Store) -> DatasetId:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, CHEAPER)
    take(store, dataset, [*CHEAPER[:2], {"sku": "D4", "title": "Rug"}])
    return dataset


@pytest.mark.usefixtures("shop")
def test_rows_are_listed_as_they_were(livedata: Shell) -> None:
    shown = livedata.out("rows", "list", "shop", "--at", "3").splitlines()
    assert [line.split()[:3] for line in shown] == [
        ["title", "row", "status"],
        ["Lamp", "A1", "new"],
        ["Chair", "B2", "new"],
        ["Mug", "C3", "new"],
    ]
    rows = livedata.json("rows", "list", "shop", "--at", "4", "--status", "changed")
    assert [(row["rowKey"], row["status"]) for row in rows] == [("A1", "changed")]
    assert livedata.json("rows", "list", "shop", "--at", "6") == livedata.json(
        "rows", "list", "shop"
    )


@pytest.mark.usefixtures("shop")
def test_the_latest_stand_first_and_the_limit_counts(livedata: Shell) -> None:
    result = livedata("rows", "list", "shop", "--at", "4", "--limit", "2")
    assert [line.split()[1] for line in result.stdout.splitlines()] == ["row", "A1", "B2"]
    assert "There are more than 2; --limit shows more." in result.stderr


@pytest.mark.usefixtures("shop")
def test_a_day_before_the_first_run_is_an_empty_table_and_a_sentence(livedata: Shell) -> None:
    result = livedata("rows", "list", "shop", "--at", "2019-05-01", "--json")
    assert result.stdout == "[]\n"
    assert result.stderr == ("2019-05-01 is before the first accepted Run: the table is empty.\n")


@pytest.mark.usefixtures("shop")
def test_a_day_to_come_is_the_table_as_it_is_and_a_sentence(livedata: Shell) -> None:
    result = livedata("dataset", "export", "shop", "--at", "2999-01-01")
    assert result.stdout == livedata.out("dataset", "export", "shop")
    assert result.stderr == (
        "2999-01-01 is not over: this is the table as it is now. A day stands for its end: what "
        "came on it came after the day before.\n"
    )


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    "args",
    [
        ("rows", "list", "shop", "--at"),
        ("dataset", "export", "shop", "--at"),
        ("dataset", "diff", "shop"),
    ],
    ids=" ".join,
)
def test_what_is_no_moment_is_told_with_examples(livedata: Shell, args: tuple[str, ...]) -> None:
    assert livedata.error(*args, "last week") == f"Error: 'last week' is no moment: {EXAMPLES}\n"
    assert livedata.error(*args, "7") == (
        "Error: The sequence 7 is past the head of 'shop', which is 6.\n"
    )


@pytest.mark.usefixtures("shop")
def test_filters_of_today_do_not_go_with_a_moment(livedata: Shell) -> None:
    for option in ("--stale", "--unreadable"):
        refused = livedata.error("rows", "list", "shop", "--at", "3", option, code=2)
        said = "--stale and --unreadable are about the rows as they are, without --at and --where."
        assert said in refused


@pytest.mark.usefixtures("shop")
def test_an_export_has_the_rows_of_then_in_each_format(livedata: Shell, tmp_path: Path) -> None:
    printed = livedata.out("dataset", "export", "shop", "--at", "3")
    assert [row["price"] for row in csv.DictReader(printed.splitlines())] == ["10", "25.5", ""]
    lines = livedata.out("dataset", "export", "shop", "--at", "3", "--json").splitlines()
    assert [orjson.loads(line)["rowKey"] for line in lines] == ["A1", "B2", "C3"]
    package = tmp_path / "package"
    livedata(
        "dataset", "export", "shop", "--at", "3", "--format", "datapackage", "-o", str(package)
    )
    assert (package / "rows.csv").read_text() == printed
    file = tmp_path / "shop.db"
    livedata("dataset", "export", "shop", "--at", "4", "--format", "sqlite", "-o", str(file))
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("SELECT rowKey, price FROM rows").fetchall() == [
            ("A1", 8),
            ("B2", 25.5),
            ("C3", None),
        ]
        assert opened.execute("SELECT max(sequence) FROM changes").fetchall() == [(4,)]


@pytest.mark.usefixtures("shop")
def test_an_archive_is_the_whole_dataset(livedata: Shell, tmp_path: Path) -> None:
    args = ("--at", "3", "--archive", str(tmp_path / "shop.zip"))
    refused = livedata.error("dataset", "export", "shop", *args, code=2)
    assert "--archive writes the whole dataset" in refused


@pytest.mark.usefixtures("shop")
def test_a_difference_has_a_line_for_each_row(livedata: Shell) -> None:
    result = livedata("dataset", "diff", "shop", "3")
    assert result.stdout == (
        "changed  Lamp (A1)  price: 10 → 8\ngone     Mug (C3)\n"
        "new      Rug (D4)  sku: D4, title: Rug\n"
    )
    assert result.stderr == "3 rows differ: 1 changed, 1 gone, 1 new.\n"
    nothing = livedata("dataset", "diff", "shop", "4", "4")
    assert (nothing.stdout, nothing.stderr) == ("", "Nothing differs.\n")


@pytest.mark.usefixtures("shop")
def test_a_difference_as_json_names_rows_and_columns(livedata: Shell) -> None:
    assert livedata.json("dataset", "diff", "shop", "3", "6") == [
        {"kind": "changed", "row": "A1", "changed": {"price": {"before": 10, "after": 8}}},
        {"kind": "gone", "row": "C3", "changed": {}},
        {
            "kind": "new",
            "row": "D4",
            "changed": {
                "sku": {"before": None, "after": "D4"},
                "title": {"before": None, "after": "Rug"},
            },
        },
    ]


@pytest.mark.usefixtures("shop")
def test_two_moments_stand_in_their_order(livedata: Shell) -> None:
    assert livedata.error("dataset", "diff", "shop", "4", "2") == (
        "Error: 4 is later than 2: write the earlier moment first.\n"
    )


def test_long_values_have_lines_of_their_own_on_a_terminal(livedata: Shell, store: Store) -> None:
    dataset = make_dataset(store)
    take(store, dataset, [{"sku": "A1", "title": "Lamp " * 12}])
    take(store, dataset, [{"sku": "A1", "title": "Desk " * 12}])
    shown = on_terminal(livedata, "dataset", "diff", "shop", "1", NO_COLOR="1")
    assert max(map(len, shown.splitlines())) <= 80
    assert "title: Lamp" in shown
