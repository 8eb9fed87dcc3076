"""`livedata.open`: a table of the store of this machine, and what it refuses."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import livedata
from livedata.model.errors import FormUnavailable, Invalid, NotFound, StoreUnavailable
from livedata.python import store as stored
from livedata.services import accounts, datasets
from livedata.store.database.store import Database, Store
from tests import made
from tests.services.table import Table


@pytest.fixture
def table(shop: Table, tmp_path: Path) -> livedata.Table:
    """The table of the shop in the store."""
    return livedata.open(shop.dataset["name"], home=tmp_path)


def test_a_dataset_is_named_by_its_name_its_id_or_an_end_of_that(
    shop: Table, tmp_path: Path
) -> None:
    dataset = shop.dataset
    for name in ("shop", dataset["id"], dataset["id"][-12:]):
        assert livedata.open(name, home=tmp_path).name == "shop"
    place = shop.store.place
    assert repr(livedata.open("shop", home=tmp_path)) == f"<Table 'shop' of {place}>"


@pytest.mark.usefixtures("shop")
def test_the_home_is_that_of_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVEDATA_HOME", str(tmp_path))
    assert [column["name"] for column in livedata.open("shop").columns] == [
        *("sku", "title", "price", "due")
    ]


@pytest.mark.usefixtures("shop")
def test_a_name_that_is_wrong_says_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"There is no dataset 'shp'; did you mean 'shop'\?"):
        livedata.open("shp", home=tmp_path)


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("dataset", [None, 5, b"shop", "\ud800"])
def test_what_names_no_dataset_is_refused(dataset: Any, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="dataset"):
        livedata.open(dataset, home=tmp_path)


def test_another_owner_has_tables_of_its_own(shop: Table, store: Store, tmp_path: Path) -> None:
    accounts.grant(store, "bob", 5, first_credits=0)
    with pytest.raises(NotFound, match="There is no dataset 'shop', and no other one yet"):
        livedata.open(shop.dataset["name"], home=tmp_path, owner="bob")


def test_what_is_not_there_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "mistyped"
    with pytest.raises(StoreUnavailable, match="There is no store at"):
        livedata.open("shop", home=home)
    assert not home.exists()


@pytest.mark.sqlite
@pytest.mark.usefixtures("shop")
def test_a_store_that_is_taken_away_is_not_made_again(store: Store, tmp_path: Path) -> None:
    table = livedata.open("shop", home=tmp_path)
    store.close()
    for file in tmp_path.glob("livedata.db*"):
        file.unlink()
    with pytest.raises(StoreUnavailable, match="There is no store at"):
        table.rows()
    assert not [*tmp_path.glob("livedata.db*")]


def test_a_setting_that_is_wrong_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("delay = 99\n")
    with pytest.raises(Invalid, match=r"delay in .*config\.toml must be a number from 0 to 60"):
        livedata.open("shop", home=tmp_path)


def test_a_dataset_that_is_deleted_is_no_more(
    shop: Table, store: Store, table: livedata.Table
) -> None:
    datasets.remove(store, "local", shop.id)
    for ask in (table.rows, table.changes, table.to_arrow, table._repr_html_):
        with pytest.raises(NotFound, match="There is no such dataset"):
            ask()
    with pytest.raises(NotFound):
        assert table.columns


def test_a_moment_may_be_a_value_of_python(table: livedata.Table) -> None:
    today = datetime.now(UTC)
    assert table.rows(at=today.date()) == table.rows(at=today.isoformat()) == table.rows(at=today)
    assert table.rows(at=date(2020, 1, 1)) == []
    assert len(table.rows(at=2)) == 2


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("rows", {"at": "yesterday"}, "'yesterday' is no moment: write a date and time"),
    ("rows", {"at": 99}, "The sequence 99 is past the head of 'shop', which is 8."),
    ("rows", {"at": -1}, "at must be a date, a datetime with its zone, a sequence"),
    ("rows", {"at": True}, "at must be a date"),
    ("rows", {"at": 2.5}, "at must be a date"),
    ("rows", {"at": ""}, "at must be a date"),
    ("rows", {"at": datetime(2026, 3, 1)}, "at needs a zone, such as datetime"),  # noqa: DTZ001
    ("rows", {"where": "prize < 3"}, "is price meant?"),
    ("rows", {"where": "price falls"}, "price falls"),
    (
        "rows",
        {"where": ["price < 3", 7]},
        "where must be a text or a list of texts, not ['price < 3', 7].",
    ),
    ("rows", {"where": 7}, "where must be a text or a list of texts, not 7."),
    ("rows", {"columns": "prize"}, "There is no column 'prize'."),
    ("rows", {"columns": []}, "columns must name columns, such as title,price; leave it out"),
    ("rows", {"columns": "title,"}, "columns must name columns, such as title,price; leave it out"),
    ("rows", {"at": 10**5000}, "not a number of thousands of digits."),
    ("rows", {"at": pd.NaT}, "at must be a date, a datetime with its zone, a sequence"),
    ("changes", {"after": 10**30}, "after must be a sequence, 0 or more, not 1000000000"),
    ("diff", {"since": -1}, "since must be a date"),
    ("diff", {"since": 1, "until": -1}, "until must be a date"),
    ("changes", {"after": 99}, "after 99 is past the last sequence, which is 8."),
    ("changes", {"after": -1}, "after must be a sequence, 0 or more, not -1."),
    ("changes", {"after": "3"}, "after must be a sequence, 0 or more, not '3'."),
    ("changes", {"after": 3, "since": 2}, "after and since both say where to begin; give one."),
    ("changes", {"when": "price flies"}, "price flies"),
    ("diff", {"since": 3, "until": 2}, "3 is later than 2: write the earlier moment first."),
    ("diff", {"since": "nothing"}, "'nothing' is no moment"),
    ("to_pandas", {"where": "prize < 3"}, "is price meant?"),
]


def test_a_wrong_question_says_in_one_sentence_what_is_wrong(table: livedata.Table) -> None:
    for method, asked, said in WRONG:
        with pytest.raises(Invalid) as raised:
            getattr(table, method)(**asked)
        assert said in str(raised.value)


def test_what_is_read_in_several_transactions_has_each_change_once(
    shop: Table, table: livedata.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = list(table.changes())
    for together in (1, 2, 3, 7, 8, 9):
        monkeypatch.setattr(stored, "_TOGETHER", together)
        assert list(table.changes()) == whole
        later = table.changes(after=2)
        first = next(later)
        shop.take({"sku": f"N{together}", "title": "New", "price": 1})
        assert [first, *later] == [each for each in whole if each["sequence"] > 2]
        whole = list(table.changes())


def test_a_number_of_another_library_is_a_sequence(table: livedata.Table) -> None:
    kept = pd.DataFrame(table.changes())["sequence"].max()
    assert list(table.changes(after=kept)) == []
    assert table.rows(at=kept) == table.rows(at=int(kept))


def test_none_is_no_condition(table: livedata.Table) -> None:
    assert table.rows(where=None, columns=None, at=None) == table.rows()
    assert list(table.changes(when=None, since=None)) == list(table.changes())


def test_both_moments_of_a_diff_are_of_one_transaction(
    table: livedata.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[str] = []
    reading = Database.reading

    def counted(database: Database, **options: bool) -> Any:
        begun.append("reading")
        return reading(database, **options)

    monkeypatch.setattr(Database, "reading", counted)
    table.diff(2)
    assert len(begun) == 1


def test_a_library_that_is_missing_is_named(
    table: livedata.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library, ask in (
        ("pandas", table.to_pandas),
        ("polars", table.to_polars),
        ("pyarrow", table.to_arrow),
    ):
        with monkeypatch.context() as missing:
            missing.setitem(sys.modules, library, None)
            with pytest.raises(FormUnavailable, match=r"pip.* install"):
                ask()


def test_in_a_notebook_what_a_site_wrote_is_text(shop: Table, table: livedata.Table) -> None:
    shop.take(
        {"sku": "<script>alert(1)</script>", "title": "\x1b[31m‮x" + "y" * 300, "price": 1},
        *({"sku": f"K{number}", "title": "", "price": None} for number in range(30)),
    )
    page = table._repr_html_()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\\x1b[31m\\u202ex" in page
    assert "y" * 80 not in page
    assert page.count("<tr>") == 21
    assert "'>shop: 31 rows, the first 20 of them shown; the last Run: succeeded<" in page


def test_a_table_without_rows_shows_its_columns(store: Store, tmp_path: Path) -> None:
    Table(store, made.declared("empty"))
    page = livedata.open("empty", home=tmp_path)._repr_html_()
    assert "'>empty: 0 rows</caption>" in page
    assert "<th>rowKey</th>" in page


def test_the_import_costs_nothing_until_a_table_is_asked_for() -> None:
    code = "import sys; before = {*sys.modules}; import livedata; print(*({*sys.modules} - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {*done.stdout.split()} <= {"livedata", "__future__"}


def test_all_names_of_the_package_are_there() -> None:
    for name in ("LivedataError", "Table", "Tables", "connect", "open"):
        assert name in dir(livedata)
        assert getattr(livedata, name)
    with pytest.raises(AttributeError, match="has no attribute 'opne'"):
        assert livedata.opne  # type: ignore[attr-defined]
