"""A number of a table is drawn beside its cell: what it was by the last changes of its row."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from livedata.services.pages import history
from livedata.store import shown_rows
from tests.browsing.test_table import fields, path_of
from tests.browsing.world import World
from tests.made import make_dataset, take
from tests.watched import Watched

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


@pytest.fixture
def prices(store: Store, alice: Visitor) -> str:
    """The path of a table in which one price has changed four times, and others never."""
    dataset, items = make_dataset(store, alice.owner), [*World(store, alice.owner).items(20)]
    for price in (10, 12.5, 8, 11, 11):
        take(store, dataset, [{**items[1], "price": price}, *items[2:]], owner=alice.owner)
    return path_of(dataset)


def test_a_number_is_drawn_beside_its_cell_by_what_it_was(
    store: Store, alice: Visitor, prices: str
) -> None:
    price = fields(store, prices)["price"]
    assert 'class="spark"' not in alice.get(prices)
    page = alice.get(f"{prices}?line={price}")
    assert re.findall('aria-label="(From [^"]*)"', page) == [
        "From 10 to 11; the lowest is 8, the highest 12.5."
    ]
    assert f'<option value="{price}" selected>' in page
    (row,) = [row for row in re.findall("<tr.*?</tr>", page) if "spark" in row]
    assert ">K001<" in row
    lines = json.loads(alice.get(f"{prices}?line={price}&as=json"))["lines"]
    assert [point["value"] for point in max(lines.values(), key=len)] == [10, 12.5, 8, 11, 11]
    assert "lines" not in json.loads(alice.get(f"{prices}?as=json"))


def test_the_numbers_of_a_page_are_asked_for_at_once_and_no_more_than_are_drawn(
    store: Store, alice: Visitor, prices: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = Watched.of_store(store, monkeypatch)
    watched.look(alice.get, prices)
    without = len(watched.asked)
    path = f"{prices}?line={fields(store, prices)['price']}"
    read = list[object]()

    def latest(*asked: Any) -> Any:
        read.append(asked)
        return shown_rows.latest(*asked)

    monkeypatch.setattr(history, "latest", latest)
    watched.look(alice.get, path)
    # Only its dataset is asked for beside the one statement that reads what all rows have shown.
    assert len(watched.asked) - without == 1
    assert len(read) == 1
    monkeypatch.setattr(history, "OF_A_LINE", 2)
    assert "From 8 to 11; the lowest is 8, the highest 11." in alice.get(path)


@pytest.mark.parametrize("line", ["title", "sku", "nothing"])
def test_what_is_no_number_is_not_drawn(
    store: Store, alice: Visitor, prices: str, line: str
) -> None:
    asked = fields(store, prices).get(line, line)
    assert "begin at the table again" in alice.get(f"{prices}?line={asked}", 400)


def test_a_row_that_was_gone_had_no_number_then(store: Store, alice: Visitor) -> None:
    dataset, items = make_dataset(store, alice.owner), [*World(store, alice.owner).items(40)]
    path = path_of(dataset)
    for taken in (items, items[2:], [{**items[1], "price": 7}, *items[2:]]):
        take(store, dataset, taken, owner=alice.owner)
    answer = json.loads(alice.get(f"{path}?line={fields(store, path)['price']}&as=json"))
    values = [[point["value"] for point in line] for line in answer["lines"].values()]
    assert [1.5, None, 7, 7] in values
