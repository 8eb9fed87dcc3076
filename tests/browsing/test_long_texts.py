"""Pages over long texts are short, and whoever goes on to the next one misses nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services.pages import table
from livedata.store.database import backend
from tests import made
from tests.browsing.test_table import all_keys, fields, keys, path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

ROWS = 12
LONG = "x" * 2_000
_NUMBER = re.compile(r'class="number mark"><data value="(\d+)"')


@pytest.fixture
def path(store: Store, alice: Visitor) -> str:
    """The page of a dataset with rows short and long, each of which has changed, some by hand."""
    dataset = made.make_dataset(store, alice.owner)
    for price in (1, 2, 3):
        items: list[dict[str, Scalar]] = [
            {
                "sku": f"K{number:02}",
                "title": f"{price}{LONG[: number % 3 * 1_000]}",
                "price": price + number % 5,
            }
            for number in range(ROWS)
        ]
        made.take(store, dataset, items, owner=alice.owner)
        if price == 1:
            World(store, alice.owner).edit(dataset, "title", "mine")
    return path_of(dataset)


@pytest.mark.parametrize(
    "query",
    [
        *("", "search=k0", "search=xxx&status=changed", "only=stale"),
        *("sort=rowKey", "sort=price&order=down", "sort=price&search=k"),
    ],
)
@pytest.mark.parametrize("most", [1, 3_000, 10_000])
def test_short_pages_of_a_table_have_each_row_once_and_in_order(
    alice: Visitor, store: Store, path: str, monkeypatch: pytest.MonkeyPatch, most: int, query: str
) -> None:
    wished = f"{path}?{query}".replace("price", fields(store, path)["price"])
    whole = keys(alice.get(wished))
    monkeypatch.setattr(backend, "PAGE_BYTES", most)
    if "sort" not in query:
        monkeypatch.setattr(table, "_LOOKED_AT", most)
    assert whole
    assert all_keys(alice, wished) == whole


@pytest.mark.parametrize("query", ["", "?search=k", "?sort=rowKey", "?status=changed"])
def test_a_page_of_a_table_has_no_more_than_its_bytes_and_one_row(
    alice: Visitor, path: str, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(backend, "PAGE_BYTES", 5_000)
    page = next(alice.pages(f"{path}{query}"))
    assert 1 < len(keys(page)) < ROWS
    assert "More rows" in page


def test_a_search_stops_after_what_one_page_may_look_at_and_says_so(
    alice: Visitor, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    oldest = keys(alice.get(path))[-1]
    monkeypatch.setattr(table, "_LOOKED_AT", 5_000)
    first, *others = alice.pages(f"{path}?search={oldest}")
    assert keys(first) == []
    assert "None of the newest rows matches; earlier ones may." in first
    assert "No row matches." not in first
    assert [key for page in others for key in keys(page)] == [oldest]


def test_a_table_with_too_much_text_is_not_sorted_and_the_page_says_what_to_do(
    alice: Visitor, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "_LOOKED_AT", 5_000)
    page = alice.get(f"{path}?sort=rowKey", 422)
    assert "too much text to be sorted" in page
    assert "narrow them by status" in page
    assert len(keys(alice.get(f"{path}?sort=rowKey&status=new"))) == 0


@pytest.mark.parametrize("query", ["", "?kind=updated", "?kind=missing", "?kind=created"])
@pytest.mark.parametrize("most", [1, 3_000, 10_000])
def test_short_pages_of_changes_have_each_change_once_and_in_order(
    alice: Visitor, path: str, monkeypatch: pytest.MonkeyPatch, most: int, query: str
) -> None:
    wished = f"{path}/changes{query}"
    whole = _NUMBER.findall(alice.get(wished))
    assert bool(whole) == ("missing" not in query)
    monkeypatch.setattr(backend, "PAGE_BYTES", most)
    pages = list(alice.pages(wished))
    assert [number for page in pages for number in _NUMBER.findall(page)] == whole
    assert len(pages) > 1


def test_what_is_looked_at_of_hand_edits_counts_what_they_are_compared_with(
    alice: Visitor, store: Store, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = ids.DatasetId(ids.raw_id(path.rpartition("/")[2]))
    with store.writing() as writer:
        writer.execute(
            "UPDATE rows SET overrides = (SELECT overrides FROM rows WHERE overrides IS NOT NULL) "
            "WHERE dataset_id = :dataset",
            dataset=dataset,
        )
    whole = len(list(alice.pages(f"{path}?only=stale")))
    monkeypatch.setattr(table, "_LOOKED_AT", 20_000)
    assert whole == 1
    assert len(list(alice.pages(f"{path}?search=nothing"))) == 1
    assert len(list(alice.pages(f"{path}?only=stale"))) > 1
