"""A column that was dropped: no page of today has it, and the history of its dataset has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries
from tests.browsing import addresses
from tests.browsing.world import World

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

GONE = "title"


def named(store: Store, owner: str, dataset: ids.DatasetId) -> dict[str, Any]:
    columns = queries.dataset(store, ids.OwnerName(owner), dataset)["columns"]
    return {column["name"]: column for column in columns}


@pytest.fixture
def shop(store: Store, alice: Visitor) -> tuple[ids.DatasetId, str]:
    """A shop without the column of its titles, which had changes and hand edits; its old id."""
    world = World(store, alice.owner)
    dataset = world.shop()
    gone = named(store, alice.owner, dataset)[GONE]["id"]
    pinned = queries.source(store, ids.OwnerName(alice.owner), dataset)
    left: dict[str, Any] = {
        "name": "shop",
        "columns": [
            {key: value for key, value in column.items() if key != "id"}
            for column in pinned["columns"]
            if column["name"] != GONE
        ],
        "source": {
            **pinned["source"],
            "fields": [each for each in pinned["source"]["fields"] if each["name"] != GONE],
        },
    }
    body = read(CreateDataset, left)
    owner = ids.OwnerName(alice.owner)
    assert datasets.revise(store, owner, dataset, body, TargetPolicy()).is_changed
    return dataset, gone


def test_every_page_is_shown_and_those_of_today_do_not_have_it(
    alice: Visitor, store: Store, shop: tuple[ids.DatasetId, str]
) -> None:
    dataset, gone = shop
    paths = [path for _, pages in addresses.of_datasets(store, alice.owner) for path in pages]
    rows = addresses.of_rows(store, alice.owner, dataset)
    for path in (*addresses.ALONE, *paths, *rows, *addresses.of_runs(store, alice.owner, dataset)):
        assert alice.client.get(path).status_code in {200, 303}, path
    table = f"/datasets/{ids.format_uuid(dataset)}"
    assert gone not in alice.get(table)
    assert "(dropped)" in alice.get(rows[0])


def test_the_history_is_narrowed_to_it(alice: Visitor, shop: tuple[ids.DatasetId, str]) -> None:
    dataset, gone = shop
    page = alice.get(f"/datasets/{ids.format_uuid(dataset)}/changes?field={gone}")
    assert "(dropped) changed" in page
    assert "Nothing" not in page


def test_a_link_that_narrows_the_table_by_it_says_that_it_is_not_there(
    alice: Visitor, shop: tuple[ids.DatasetId, str]
) -> None:
    dataset, gone = shop
    path = f"/datasets/{ids.format_uuid(dataset)}"
    said = alice.client.get(f"{path}?where=title+contains+x")
    assert "there is no such column: there is sku, price, stock" in said.text
    for asked in (f"sort={gone}", f"facet={gone}", f"column={gone}&columns=1"):
        assert alice.client.get(f"{path}?{asked}").status_code < 500, asked
