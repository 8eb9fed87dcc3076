"""The rows of a table as it is looked at, as a file."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

import openpyxl
import orjson
import pytest

from livedata.model import ids
from livedata.services import queries
from tests import made
from tests.browsing.test_table import fields, keys, path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


@pytest.fixture
def shop(store: Store, alice: Visitor) -> str:
    """The path of a dataset of Alice with 40 rows, one of which is gone."""
    return path_of(World(store, alice.owner).shop())


def as_csv(visitor: Visitor, path: str) -> list[list[str]]:
    """The lines of a file, that of its names first."""
    return [*csv.reader(io.StringIO(visitor.get(path)))]


@pytest.mark.parametrize(
    "query",
    [
        "",
        "search=lamp+7",
        "search=k03&sort=rowKey",
        "sort=rowKey&order=down",
        "status=gone",
        "only=stale",
        "where=price+%3E+36.5&sort=rowKey",
        "where=price+%3E+1000",
        "sort={price}&order=down",
        "sort={price}",
    ],
)
def test_a_file_has_the_rows_of_the_page_in_their_order(
    alice: Visitor, store: Store, shop: str, query: str
) -> None:
    asked = query.format(price=fields(store, shop)["price"])
    heads, *rows = as_csv(alice, f"{shop}/rows.csv?{asked}")
    assert heads == ["rowKey", "status", "presence", "sku", "title", "price", "stock", "note"]
    assert [row[0] for row in rows] == keys(alice.get(f"{shop}?{asked}"))


@pytest.mark.parametrize("sort", ["", "rowKey", "price"])
@pytest.mark.parametrize("order", ["", "down"])
def test_a_file_has_the_rows_of_all_pages(
    alice: Visitor, store: Store, sort: str, order: str
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, World(store, "alice").items(230), owner="alice")
    path = path_of(dataset)
    query = f"sort={fields(store, path).get(sort, sort)}&order={order}"
    pages = [key for page in alice.pages(f"{path}?{query}") for key in keys(page)]
    assert [row[0] for row in as_csv(alice, f"{path}/rows.csv?{query}")[1:]] == pages
    # Wherever the reader stands in the list.
    second = f"{path}/rows.csv?{query}&after=%7B%22by%22%3Anull%2C%22row%22%3A%22x%22%7D"
    assert alice.client.get(second).status_code == 400
    assert len(pages) == 230


def test_a_file_has_the_columns_that_are_chosen(alice: Visitor, store: Store, shop: str) -> None:
    column = fields(store, shop)
    alice.get(f"{shop}?column={column['price']}&column={column['note']}")
    assert as_csv(alice, f"{shop}/rows.csv")[0] == ["rowKey", "status", "presence", "price", "note"]
    alice.get(f"{shop}?column=all")
    assert len(as_csv(alice, f"{shop}/rows.csv")[0]) == 8


def test_the_page_leads_to_the_files_of_just_its_rows(alice: Visitor, shop: str) -> None:
    page = alice.get(f"{shop}?where=price+%3E+36&sort=rowKey")
    assert "These rows as a file:" in page
    for form in ("csv", "xlsx", "json"):
        link = f"{shop}/rows.{form}?where=price+%3E+36&amp;sort=rowKey"
        assert f'<a href="{link}" download>{form.upper()}</a>' in page
    assert "All rows as a file:" in alice.get(shop)


def test_each_form_has_the_same_rows_and_a_name(alice: Visitor, shop: str) -> None:
    bodies = dict[str, bytes]()
    for form in ("csv", "json", "jsonl", "xlsx"):
        with alice.client.get(f"{shop}/rows.{form}?search=lamp+1&sort=rowKey") as answer:
            bodies[form] = answer.data
            assert answer.headers["Content-Disposition"] == f"attachment; filename=shop.{form}"
            assert answer.headers["Cache-Control"] == "no-store"
    wanted = [row[0] for row in csv.reader(io.StringIO(bodies["csv"].decode()))][1:]
    assert wanted[0] == "K001"
    assert [row[0] for row in orjson.loads(bodies["json"])["rows"]] == wanted
    lines = bodies["jsonl"].splitlines()
    assert [orjson.loads(line)["rowKey"] for line in lines] == wanted
    sheet = openpyxl.load_workbook(io.BytesIO(bodies["xlsx"])).active
    assert sheet is not None
    assert [row[0] for row in sheet.iter_rows(min_row=2, values_only=True)] == wanted


def test_no_text_of_a_site_is_a_formula_in_a_spreadsheet(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, "alice")
    item: dict[str, Scalar] = {"sku": "=cmd()", "title": "@SUM(1)", "price": -1, "stock": None}
    made.take(store, dataset, [item], owner="alice")
    _, row = as_csv(alice, f"{path_of(dataset)}/rows.csv")
    assert (row[0], row[4], row[5]) == ("'=cmd()", "'@SUM(1)", "-1")
    with alice.client.get(f"{path_of(dataset)}/rows.xlsx") as answer:
        sheet = openpyxl.load_workbook(io.BytesIO(answer.data)).active
    assert sheet is not None
    title = sheet.cell(2, 5)
    assert (title.value, title.data_type) == ("@SUM(1)", "s")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("rows.html", 404),
        ("rows.csv?sort=nothing", 400),
        ("rows.csv?where=prise+%3C+2", 422),
        ("rows.csv?status=lost", 400),
    ],
)
def test_what_is_no_view_is_told_as_on_its_page(
    alice: Visitor, shop: str, path: str, code: int
) -> None:
    page = alice.get(f"{shop}/{path}", code)
    assert 'role="alert"' in page


def test_bob_gets_no_file_of_alice(alice: Visitor, bob: Visitor, store: Store, shop: str) -> None:
    assert alice.client.get(f"{shop}/rows.csv").status_code == 200
    assert bob.client.get(f"{shop}/rows.csv").status_code == 404
    raw = ids.DatasetId(ids.raw_id(shop.rpartition("/")[2]))
    assert queries.rows(store, "alice", raw, 1)
