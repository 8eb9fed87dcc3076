"""Each page that shows a cell writes it by the type of its column, in one place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.model.dataset import WORDED
from livedata.pages import report as report_page
from livedata.services import queries
from livedata.services.notices import subscriptions
from livedata.services.pages import report
from livedata.store.notices import Subscription
from tests import made
from tests.browsing.addresses import of_notices, of_rows
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

pytestmark = pytest.mark.one_database


@pytest.fixture
def shop(store: Store, alice: Visitor, monkeypatch: pytest.MonkeyPatch) -> ids.DatasetId:
    """A dataset whose prices changed and would change, while pages have words for numbers."""
    monkeypatch.setitem(WORDED, "number", lambda number: f"{number:g} crowns")
    world = World(store, alice.owner)
    dataset = made.make_dataset(store, alice.owner)
    items = world.items(40)
    dearer = [{**items[0], "price": 11}, {**items[1], "price": 12}, *items[2:]]
    for read in (items, dearer, [{**items[0], "price": 13}, items[1]]):
        made.take(store, dataset, read, owner=alice.owner)
    world.preview(dataset)
    wanted = ("all", "webhook", "https://hooks.example/T1", ("changes",), None, 2, None)
    subscriptions.add(store, alice.owner, Subscription(*wanted))
    return dataset


def shown(store: Store, owner: str, dataset: ids.DatasetId) -> Iterator[str]:
    """The pages that show prices, some of them by what they are asked."""
    path = f"/datasets/{ids.format_uuid(dataset)}"
    columns = queries.dataset(store, owner, dataset)["columns"]
    (price,) = [column["id"] for column in columns if column["name"] == "price"]
    rows = of_rows(store, owner, dataset)
    held, accepted = (
        next(
            run["id"]
            for run in queries.runs(store, owner, dataset, 100)
            if run["status"] == status and (status == "held" or run["rowDeltas"]["changed"])
        )
        for status in ("held", "succeeded")
    )
    yield from (path, f"{path}/changes", f"{path}/compare?from=1")
    yield from (f"/runs/{held}", f"/runs/{accepted}", rows[1], f"{path}/preview")
    yield from (f"{path}?facet={price}", f"{path}?where=price+%3E+7&edit=rows", "/search?q=crowns")
    yield from (f"{path}?search=7.5+crowns", f"{path}?line={price}")
    # No cell has such a number, and a clause may.
    yield f"{path}?where=price+%3C+1e30"
    chosen = "&row=".join(row.rpartition("/")[2] for row in rows[1:3])
    yield f"{path}/edits?row={chosen}"
    yield from (page for page in of_notices(store, owner) if page.endswith("/try"))


def test_a_page_says_of_a_type_what_its_words_are(
    store: Store, alice: Visitor, shop: ids.DatasetId
) -> None:
    for path in shown(store, alice.owner, shop):
        page = alice.get(path)
        assert re.search(r"\d crowns", re.sub(r"<[^>]*>", "", page)), path
        assert not re.search(r"&lt;\w", page), path


def test_a_report_says_of_a_type_what_its_words_are(
    store: Store, alice: Visitor, shop: ids.DatasetId
) -> None:
    told = report.report(store, alice.owner, shop, ids.Micros(0))
    assert report_page.write(told, told.since).count(" crowns</data>") > len(told.rows) // 2
