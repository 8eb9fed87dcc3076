"""The table of a dataset: sorted, searched, narrowed and paged, with its marks."""

from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import queries
from tests import made
from tests.api.person import NOWHERE
from tests.browsing.world import World
from tests.services.research_table import ResearchTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_ROW = re.compile(r'<th scope="row"><a href="[^"]+">(?:.*?<small>)?<bdi>([^<]*)</bdi>')

TEXTS = (*made.COLUMNS, {"name": "text", "type": "string"})


def keys(page: str) -> list[str]:
    """The keys of the rows that a page shows, in their order."""
    return _ROW.findall(page)


def all_keys(visitor: Visitor, path: str) -> list[str]:
    """The keys on a page and on all that follow it."""
    return [key for page in visitor.pages(path) for key in keys(page)]


@pytest.fixture
def shop(store: Store, alice: Visitor) -> str:
    """The path of a dataset of Alice with 40 rows, one of which is gone."""
    return path_of(World(store, alice.owner).shop())


def path_of(dataset: ids.DatasetId) -> str:
    return f"/datasets/{ids.format_uuid(dataset)}"


def fields(store: Store, path: str) -> dict[str, str]:
    dataset = ids.DatasetId(ids.raw_id(path.rpartition("/")[2]))
    columns = queries.dataset(store, "alice", dataset)["columns"]
    return {column["name"]: column["id"] for column in columns}


def test_the_newest_rows_come_first_and_all_are_there(alice: Visitor, shop: str) -> None:
    row_keys = keys(alice.get(shop))
    assert row_keys[:2] == ["K000", "K039"]
    assert sorted(row_keys) == [f"K{number:03}" for number in range(40)]


@pytest.mark.parametrize("order", ["", "&order=down"])
def test_a_number_is_sorted_as_one_and_an_empty_cell_comes_last(
    alice: Visitor, store: Store, shop: str, order: str
) -> None:
    row_keys = keys(alice.get(f"{shop}?sort={fields(store, shop)['price']}{order}"))
    filled = [f"K{number:03}" for number in range(40) if number % 5]
    assert row_keys[: len(filled)] == (filled[::-1] if order else filled)
    assert sorted(row_keys[len(filled) :]) == [f"K{number:03}" for number in range(0, 40, 5)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("search=lamp+7", ["K007"]),
        ("search=LAMP+7", ["K007"]),
        ("search=36.5", ["K036"]),
        ("search=yes&status=changed", ["K000"]),
        ("search=True", []),
        ("search=k03&sort=rowKey", [f"K03{number}" for number in range(10)]),
        ("status=gone", ["K039"]),
        ("status=changed", ["K000"]),
        ("only=stale", ["K000"]),
        ("only=unreadable", []),
        ("search=lamp&status=gone", ["K039"]),
        ("search=nothing+like+it", []),
        ("where=price+%3E+36.5&sort=rowKey", ["K037", "K038", "K039"]),
        ("where=price+%3E+36&status=gone", ["K039"]),
        ("where=price+%3E+1000", []),
        ("where=rowKey+%3D+K007&search=lamp", ["K007"]),
    ],
)
def test_rows_are_searched_and_narrowed(
    alice: Visitor, shop: str, query: str, expected: list[str]
) -> None:
    page = alice.get(f"{shop}?{query}")
    assert keys(page) == expected
    assert ("No row matches." in page) == (not expected)


def test_a_wrong_clause_is_told_above_the_table_and_shows_no_rows(
    alice: Visitor, shop: str
) -> None:
    page = alice.get(f"{shop}?where=prise+%3C+20")
    assert "names &#39;prise&#39;, and there is no such column: is price meant?" in page
    assert 'value="prise &lt; 20"' in page
    assert keys(page) == []


def test_a_clause_stays_as_the_table_is_sorted_and_exported(alice: Visitor, shop: str) -> None:
    page = alice.get(f"{shop}?where=price+%3E+36")
    assert page.count("where=price+%3E+36&amp;sort=") > 3
    assert "dataset export shop --where &#39;price &gt; 36&#39; --owner alice" in page


def test_rows_of_research_are_searched_and_sorted_by_the_name_that_is_shown(
    alice: Visitor, store: Store
) -> None:
    table = ResearchTable(store, alice.owner)
    table.take({name: {"City": "Bern"} for name in ("Zeta", "Acme", "Mill")})
    path = path_of(table.id)
    assert keys(alice.get(f"{path}?sort=rowKey")) == ["Acme", "Mill", "Zeta"]
    assert keys(alice.get(f"{path}?sort=rowKey&order=down")) == ["Zeta", "Mill", "Acme"]
    assert keys(alice.get(f"{path}?search=zeta")) == ["Zeta"]
    assert keys(alice.get(f"{path}?search=entity")) == []


@pytest.mark.parametrize("sort", ["", "rowKey", "price", "title"])
@pytest.mark.parametrize("order", ["", "down"])
def test_pages_together_have_each_row_once(
    alice: Visitor, store: Store, sort: str, order: str
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, World(store, "alice").items(230), owner="alice")
    path = path_of(dataset)
    named = fields(store, path).get(sort, sort)
    row_keys = all_keys(alice, f"{path}?sort={named}&order={order}")
    assert len(row_keys) == 230
    assert len(set(row_keys)) == 230
    if sort == "rowKey":
        assert row_keys == sorted(row_keys, reverse=bool(order))


def test_a_page_of_many_columns_has_fewer_rows_and_says_so(alice: Visitor, store: Store) -> None:
    columns = (*made.COLUMNS, *({"name": f"more{n}", "type": "number"} for n in range(45)))
    dataset = made.make_dataset(store, "alice", columns=columns)
    made.take(store, dataset, World(store, "alice").items(130), owner="alice")
    path = path_of(dataset)
    told = "rows a page, as there are 48 columns beside them"
    pages = [*alice.pages(path)]
    assert [len(keys(page)) for page in pages] == [25, 25, 25, 25, 25, 5]
    assert all(f"25 {told}" in page for page in pages)
    assert len({key for page in pages for key in keys(page)}) == 130
    assert all(len(page) < 130_000 for page in pages)
    price = fields(store, path)["price"]
    few = [*alice.pages(f"{path}?column={price}")]
    assert [len(keys(page)) for page in few] == [100, 30]
    assert not any(told in page for page in few)


def test_a_hundred_rows_weigh_little_and_what_marks_a_cell_stands_in_it(
    alice: Visitor, store: Store
) -> None:
    dataset, items = made.make_dataset(store, "alice"), World(store, "alice").items(100)
    made.take(store, dataset, items, owner="alice")
    made.take(store, dataset, [{**item, "price": 1} for item in items], owner="alice")
    page = alice.get(path_of(dataset))
    rows = re.findall("<tr>.*</tr>", page)
    assert len(rows) == 100
    assert max(map(len, rows)) < 520
    assert all("<td class=number data-label=price>1 <span" in row for row in rows if "was" in row)
    assert sum("was <del>" in row for row in rows) > 90


def test_what_is_unchanged_is_blank_and_a_row_says_how_long_ago_it_was_updated(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    lamp, chair, mug = made.ITEMS
    made.take(store, dataset, [lamp, chair, mug], owner=alice.owner)
    first = queries.rows(store, alice.owner, dataset, 1)[0][0]["updatedAt"]
    clock(2 * 3_600)
    made.take(store, dataset, [{**lamp, "price": 12}, chair, mug], owner=alice.owner)
    page = alice.get(path_of(dataset)).partition("<tbody>")[2]
    ends = re.findall(r"<td>(\w*)<td><time class=exact [^>]*>([^<]*)</time></tr>", page)
    assert ends == [("changed", "just now"), ("", "2 h ago"), ("", "2 h ago")]
    assert page.count(f"datetime={first} title={first[:19]}Z>2 h ago") == 2


def test_a_page_goes_on_where_the_last_one_ended_though_rows_have_changed(
    alice: Visitor, store: Store
) -> None:
    dataset, items = made.make_dataset(store, "alice"), World(store, "alice").items(150)
    made.take(store, dataset, items, owner="alice")
    pages = alice.pages(f"{path_of(dataset)}?sort=rowKey")
    assert len(keys(next(pages))) == 100
    made.take(store, dataset, [{**item, "price": 1} for item in items[:130]], owner="alice")
    assert keys(next(pages)) == [f"K{number:03}" for number in range(100, 150)]


def test_a_changed_cell_shows_what_stood_there_and_an_edit_is_marked(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, "alice")
    made.take(store, dataset, owner="alice")
    lamp, *others = made.ITEMS
    made.take(store, dataset, [{**lamp, "price": 12}, *others], owner="alice")
    page = alice.get(path_of(dataset))
    assert '>12 <span class="mark was">was <del>10</del></span>' in page
    assert "edited by hand" not in page
    world = World(store, "alice")
    world.edit(dataset, "title", "mine")
    assert "edited by hand" in alice.get(path_of(dataset))


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        *("sort=nothing", "status=old", "only=some", "after=x", 'after={"by":1}', "after=[]"),
        f"search={'x' * 201}",
        'after={"by":"x","row":"01890000-0000-7000-8000-000000000000"}',
    ],
)
def test_a_wish_that_no_table_has_is_refused_in_a_sentence(
    alice: Visitor, shop: str, query: str
) -> None:
    page = alice.get(f"{shop}?{query}", 400)
    assert "begin at the table again" in page


def test_a_long_text_is_cut_in_the_table_and_whole_on_its_row(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, "alice", columns=TEXTS)
    long = "x" * 32_000
    made.take(store, dataset, [{"sku": "A1", "title": "y" * 200, "text": long}], owner="alice")
    page = alice.get(path_of(dataset))
    assert f">{'x' * 300}…<" in page
    assert f">{'y' * 119}…<" in page
    (row,) = re.findall(rf"{path_of(dataset)}/rows/[-0-9a-f]+", page)
    assert long in alice.get(row)


def test_a_long_text_that_begins_like_an_address_is_no_link(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, owner="alice", columns=TEXTS)
    like = f"https://shop.example/{'x' * 300} and more"
    made.take(store, dataset, [{"sku": "A1", "title": like, "text": like}], owner="alice")
    page = alice.get(path_of(dataset))
    assert f"<td data-label=text><bdi>{like[:300]}…</bdi><td>" in page
    assert f"<bdi>{like[:119]}…</bdi> <small>" in page


def test_columns_are_ticked_that_are_shown_and_kept_without_a_word_in_the_address(
    alice: Visitor, store: Store, shop: str
) -> None:
    ticked = re.compile(r'name="column" value="([^"]+)" checked')
    column = fields(store, shop)
    shown = [column[name] for name in ("price", "stock", "note")]
    assert ticked.findall(alice.get(shop)) == shown
    answer = alice.client.get(f"{shop}?columns=1&column=&column={column['price']}&sort=rowKey")
    assert (answer.status_code, answer.location) == (303, f"{shop}?sort=rowKey")
    page = alice.get(shop)
    assert ticked.findall(page) == [column["price"]]
    assert "Columns <b>1/3</b>" in page
    # All of them are all, also those to come; and so are none.
    every = "".join(f"&column={each}" for each in shown)
    for query in (every, "", every):
        assert alice.client.get(f"{shop}?columns=1&column={query}").location == shop
        page = alice.get(shop)
        assert ticked.findall(page) == shown
        assert "Columns <b>" not in page
        alice.client.get(f"{shop}?columns=1&column={column['price']}")


def test_what_narrows_the_table_is_told_and_taken_away_and_its_order_is_marked(
    alice: Visitor, shop: str
) -> None:
    page = unescape(alice.get(f"{shop}?search=lamp&status=gone&only=stale"))
    taken = re.findall(r'<li><bdi>([^<]*)</bdi> <a href="([^"]*)" aria-label="Take away', page)
    assert taken == [
        ("contains “lamp”", f"{shop}?status=gone&only=stale"),
        ("gone rows", f"{shop}?search=lamp&only=stale"),
        ("edits whose source has moved", f"{shop}?search=lamp&status=gone"),
    ]
    order = re.compile(r'aria-sort="(\w+)"><a href="([^"]*)"><bdi>Updated')
    assert order.findall(alice.get(shop)) == [("descending", shop)]
    assert order.findall(alice.get(f"{shop}?sort=rowKey&order=down")) == [("none", shop)]


def test_an_empty_table_says_what_brings_rows(alice: Visitor, store: Store) -> None:
    path = path_of(made.make_dataset(store, "alice"))
    assert "There are no rows yet" in alice.get(path)


def test_bob_finds_nothing_of_alice(alice: Visitor, bob: Visitor, shop: str) -> None:
    for path in (shop, f"{shop}/changes", f"{shop}/runs", f"/datasets/{NOWHERE}"):
        assert "There is no such" in bob.get(path, 404)
    assert keys(bob.get("/")) == []
    assert "<bdi>shop</bdi>" in alice.get("/")
    bob.get("/datasets/nonsense", 404)
