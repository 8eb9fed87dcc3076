"""Long lists go back as they go on, to the same things, whatever has come in between."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.pages import compare, datasets, run, runs
from livedata.pages import table as table_page
from livedata.services import queries
from livedata.services import runs as run_service
from livedata.services.pages import history, table
from tests import made
from tests.browsing.test_table import fields, keys, path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_BACK = re.compile(r'<a href="([^"]+)" rel="prev">')
_NEXT = re.compile(r'<a href="([^"]+)" rel="next">')
_MAIN = re.compile(r"<main.*</main>", re.DOTALL)
_CHANGED_HERE = re.compile(r'name="(token|request)" value="[^"]*"|<time class="exact".*?</time>')


def links(page: str) -> tuple[str | None, str | None]:
    """Where a page goes back, and on."""
    back, further = _BACK.search(page), _NEXT.search(page)
    return (unescape(back[1]) if back else None, unescape(further[1]) if further else None)


def shown(page: str) -> str:
    """What a page shows, without what differs each time, and without where it leads."""
    match = _MAIN.search(page)
    assert match is not None
    text = _CHANGED_HERE.sub("", match[0])
    return re.sub(r'(after|before)=[^"&]*|<nav class="more".*?</nav>|[?][^"]*"', "", text)


def walk(visitor: Visitor, path: str) -> list[str]:
    """The pages from a path on, to the last one."""
    return [*visitor.pages(path)]


def walk_back(visitor: Visitor, page: str) -> list[str]:
    """The pages from one on, back to the first."""
    pages = [page]
    while (back := links(pages[-1])[0]) is not None:
        pages.append(visitor.get(back))
    return pages


def law(visitor: Visitor, path: str, least: int) -> Sequence[str]:
    """Forward n times, then back n times: each page is met again, and the first one ends it."""
    forward = walk(visitor, path)
    assert len(forward) >= least
    back = walk_back(visitor, forward[-1])
    assert [shown(page) for page in back] == [shown(page) for page in reversed(forward)]
    assert links(forward[0])[0] is None
    return forward


@pytest.fixture
def shop(store: Store, alice: Visitor, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of a dataset of Alice with 95 rows, ten to a page."""
    # A page is imported when it is first asked for: it would keep a bound that it finds changed.
    for module in (table, table_page):
        monkeypatch.setattr(module, "ON_A_PAGE", 10)
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, World(store, alice.owner).items(95), owner=alice.owner)
    return path_of(dataset)


QUERIES = [
    "",
    *(f"sort={by}{order}" for by in ("rowKey", "price", "stock") for order in ("", "&order=down")),
    "search=lamp+1",
    "where=price+%3E+20&where=stock+%3D+true",
    "where=price+is+not+empty&sort=price&order=down",
    "status=new",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_table_goes_back_over_the_pages_it_came_by(
    alice: Visitor, store: Store, shop: str, query: str
) -> None:
    for name, field in fields(store, shop).items():
        query = query.replace(f"sort={name}", f"sort={field}")
    forward = law(alice, f"{shop}?{query}", 2)
    met = [key for page in forward for key in keys(page)]
    assert len(met) == len(set(met))


@pytest.mark.parametrize("query", ["", "sort=rowKey", "sort=price&order=down", "where=price+>+1"])
def test_rows_that_come_in_between_neither_hide_nor_repeat_one(
    alice: Visitor, store: Store, shop: str, query: str
) -> None:
    path = f"{shop}?{query.replace('price&', fields(store, shop)['price'] + '&')}"
    forward = walk(alice, path)
    dataset = ids.DatasetId(ids.raw_id(shop.rpartition("/")[2]))
    older = [*World(store, alice.owner).items(95)]
    added: list[Mapping[str, Scalar]] = [
        {"sku": f"A{n:03}", "title": "new", "price": 1000 + n} for n in range(15)
    ]
    made.take(store, dataset, [*added, *older], owner=alice.owner)
    back = walk_back(alice, forward[-1])
    met = [key for page in reversed(back[1:]) for key in keys(page)]
    before = [key for page in forward[:-1] for key in keys(page)]
    # The first page is a full one, which may repeat what the second begins with.
    whole = [*dict.fromkeys(met)]
    assert [key for key in whole if key.startswith("K")] == before
    assert {key for key in whole if key.startswith("A")} == {item["sku"] for item in added}
    assert len(keys(back[-1])) == 10
    assert keys(back[-1]) == keys(alice.get(path))


def test_a_page_back_leads_on_to_the_one_it_came_from(alice: Visitor, shop: str) -> None:
    first, second, third = walk(alice, f"{shop}?sort=rowKey")[:3]
    back = links(third)[0]
    assert back is not None
    onward = links(alice.get(back))[1]
    assert onward is not None
    assert keys(alice.get(onward)) == keys(third)
    answer = json.loads(alice.get(f"{back}&as=json"))
    assert [row["rowKey"] for row in answer["data"]] == keys(second)
    assert answer["previous"] is not None
    assert keys(alice.get(answer["previous"].replace("as=json&", "").replace("&as=json", ""))) == (
        keys(first)
    )


def test_a_search_that_stops_on_the_way_goes_back_over_all_rows(
    alice: Visitor, shop: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{shop}?search=lamp+2"
    wanted = [key for page in walk(alice, path) for key in keys(page)]
    monkeypatch.setattr(table, "_LOOKED_AT", 500)
    forward = walk(alice, path)
    assert len(forward) > 3
    assert [key for page in forward for key in keys(page)] == wanted
    back = walk_back(alice, forward[-1])
    met = dict.fromkeys(key for page in reversed(back) for key in keys(page))
    assert [*met] == wanted
    assert links(back[-1])[0] is None


@pytest.mark.one_database
@pytest.mark.parametrize(
    "before", ["x", "[]", '{"by":1}', '{"by":"x","row":"01890000-0000-7000-8000-000000000000"}']
)
def test_a_place_that_no_list_has_is_refused(alice: Visitor, shop: str, before: str) -> None:
    assert "begin at the table again" in alice.get(f"{shop}?before={before}", 400)


def test_datasets_go_back(alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "ON_A_PAGE", 3)
    for number in range(8):
        made.make_dataset(store, alice.owner, f"d{number}")
    forward, back = walk(alice, "/"), []
    back = walk_back(alice, forward[-1])
    assert [re.findall("<bdi>(d.)</bdi>", page) for page in back] == [
        re.findall("<bdi>(d.)</bdi>", page) for page in reversed(forward)
    ]
    assert len(back) == 3
    made.make_dataset(store, alice.owner, "a0")
    again = walk_back(alice, forward[-1])
    assert re.findall("<bdi>(d.)</bdi>", again[1]) == re.findall("<bdi>(d.)</bdi>", forward[1])
    assert "<bdi>a0</bdi>" in again[-1]


@pytest.mark.parametrize("after", ["d1", "d1x", "ID_", "9" * 5000, "z"])
def test_datasets_go_on_behind_any_name(alice: Visitor, store: Store, after: str) -> None:
    for number in range(3):
        made.make_dataset(store, alice.owner, f"d{number}")
    page = alice.get(f"/?after={after}")
    assert re.findall("<bdi>(d.)</bdi>", page) == [
        name for name in ("d0", "d1", "d2") if name > after
    ]
    assert 'rel="prev"' in page


@pytest.mark.parametrize("after", ["", "d%00"])
def test_datasets_go_on_behind_no_such_name(alice: Visitor, after: str) -> None:
    assert "begin at the first page again" in alice.get(f"/?after={after}", 400)


def test_runs_go_back(alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "ON_A_PAGE", 3)
    dataset = made.make_dataset(store, alice.owner)
    for _ in range(8):
        made.take(store, dataset, owner=alice.owner)
    forward = law(alice, f"{path_of(dataset)}/runs", 3)
    run_service.enqueue(store, alice.owner, dataset)
    again = walk_back(alice, forward[-1])
    assert shown(again[1]) == shown(forward[1]) or "queued" in again[1]
    assert len(again) == 4


@pytest.mark.parametrize("query", ["", "kind=updated", "field={price}"])
def test_changes_go_back(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(history, "ON_A_PAGE", 7)
    monkeypatch.setattr(history, "_LOOKED_AT", 50)
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(20)
    for price in range(3):
        made.take(store, dataset, [{**item, "price": price} for item in items], owner=alice.owner)
    path = path_of(dataset)
    asked = query.format(price=fields(store, path)["price"])
    law(alice, f"{path}/changes?{asked}", 3)


def test_changes_of_which_few_are_looked_at_go_back_over_all_of_them(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "ON_A_PAGE", 7)
    monkeypatch.setattr(history, "_LOOKED_AT", 9)
    dataset, items = made.make_dataset(store, alice.owner), [*World(store, alice.owner).items(20)]
    made.take(store, dataset, items, owner=alice.owner)
    # The rows that were created last are looked at after many that were changed, and before some.
    made.take(store, dataset, [{**item, "price": 1} for item in items], owner=alice.owner)
    added: list[Mapping[str, Scalar]] = [{"sku": f"N{n}", "title": "x"} for n in range(3)]
    made.take(store, dataset, [*items, *added], owner=alice.owner)
    forward = walk(alice, f"{path_of(dataset)}/changes?kind=created")
    back = walk_back(alice, forward[-1])
    assert len(forward) > 5
    assert links(back[-1])[0] is None
    for pages in (forward, back):
        lines = [re.findall(r"rows/([-0-9a-f]+)", page) for page in pages]
        assert len({row for page in lines for row in page}) == 23
        assert max(len(page) for page in lines) <= 7


def test_the_history_of_a_row_goes_back(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "ON_A_PAGE", 3)
    dataset = made.make_dataset(store, alice.owner)
    for price in range(8):
        made.take(store, dataset, [{"sku": "A", "title": "x", "price": price}], owner=alice.owner)
    (row,) = queries.rows(store, alice.owner, dataset, 10)[0]
    forward = walk(alice, f"{path_of(dataset)}/rows/{row['id']}")
    back = walk_back(alice, forward[-1])
    numbers = [re.findall(r"<td[^>]*>.*?</td>", shown(page)) for page in (*forward, *back)]
    assert numbers[len(forward) :] == numbers[: len(forward)][::-1]
    assert len(forward) == 3


def test_what_is_compared_and_what_is_held_go_back(
    alice: Visitor, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "ON_A_PAGE", 10)
    monkeypatch.setattr(run, "ON_A_PAGE", 10)
    dataset = World(store, alice.owner).shop()
    law(alice, f"{path_of(dataset)}/compare?from=0", 3)
    (held,) = [
        each for each in queries.runs(store, alice.owner, dataset, 30) if each["status"] == "held"
    ]
    law(alice, f"/runs/{held['id']}", 3)
