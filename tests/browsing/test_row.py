"""A row: its cells with their evidence, edits against the edits of others, and its history."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.services import accounts, queries
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from werkzeug.test import TestResponse

    from livedata.model.row import RowDetail
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor


class Lamp:
    """The first row of a dataset of Alice, as she sees it."""

    def __init__(self, store: Store, alice: Visitor) -> None:
        self.store, self.alice = store, alice
        self.dataset = made.make_dataset(store, alice.owner)
        made.take(store, self.dataset, owner=alice.owner)
        columns = queries.dataset(store, alice.owner, self.dataset)["columns"]
        self.fields = {column["name"]: column["id"] for column in columns}
        listed = queries.rows(store, alice.owner, self.dataset, 10)
        self.id = next(row["id"] for row in listed if row["rowKey"] == "A1")
        self.path = f"/datasets/{ids.format_uuid(self.dataset)}/rows/{self.id}"

    @property
    def detail(self) -> RowDetail:
        row = ids.RowId(ids.raw_id(self.id))
        return queries.row(self.store, self.alice.owner, self.dataset, row)

    def value(self, name: str) -> object:
        return self.detail["data"][self.fields[name]]

    def send(self, name: str, page: str = "", **form: str) -> TestResponse:
        """Send the form of a cell, as it stands on a page."""
        page = page or self.alice.get(self.path)
        hidden = dict(re.findall(r'name="(token|request|revision)" value="([^"]+)"', page))
        path = f"{self.path}/cells/{self.fields[name]}"
        return self.alice.client.post(path, data={**hidden, **form})


@pytest.fixture
def lamp(store: Store, alice: Visitor) -> Lamp:
    return Lamp(store, alice)


def test_each_cell_shows_the_text_that_was_read_and_where(alice: Visitor, lamp: Lamp) -> None:
    page = alice.get(lamp.path)
    assert '<q><bdi dir="auto">Lamp</bdi></q>' in page
    assert f'href="{made.URL}"' in page
    read = {each["observedAt"] for each in lamp.detail["observations"]}
    places = re.findall(r'<td data-label="On">.*?</a>, <time datetime="([^"]+)"', page)
    assert set(places) == read


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("title", "Torch", "Torch"),
        ("title", "", None),
        ("title", "one\r\ntwo", "one\ntwo"),
        ("price", "12", 12),
        ("price", "9.50", 9.5),
        ("stock", "false", False),
        ("note", "שלום", "שלום"),
    ],
)
def test_a_cell_is_edited_and_reset(lamp: Lamp, name: str, typed: str, value: object) -> None:
    before = lamp.value(name)
    answer = lamp.send(name, value=typed, act="save")
    assert (answer.status_code, answer.location) == (303, lamp.path)
    assert lamp.value(name) == value
    page = lamp.alice.get(lamp.path)
    assert ("edited by hand; the source says" in page) == (name != "note")
    if name != "note":
        assert lamp.send(name, act="reset").status_code == 303
        assert lamp.value(name) == before


@pytest.mark.parametrize(
    ("name", "typed", "said"),
    [
        ("price", "cheap", "price must be a number such as 12 or 9.50, not"),
        ("stock", "maybe", "stock must be true or false"),
        ("sku", "B9", "identity"),
        ("title", "x" * 40_000, "32"),
    ],
)
def test_what_no_cell_takes_is_refused_and_stays_in_the_form(
    lamp: Lamp, name: str, typed: str, said: str
) -> None:
    before = lamp.detail
    answer = lamp.send(name, value=typed, act="save")
    assert answer.status_code == 422
    assert said in answer.text
    assert lamp.detail == before
    if name == "price":
        assert 'value="cheap"' in answer.text


def test_an_edit_of_somebody_else_is_told_and_nothing_is_lost(lamp: Lamp, store: Store) -> None:
    page = lamp.alice.get(lamp.path)
    World(store, "alice").edit(lamp.dataset, "title", "Of somebody else")
    answer = lamp.send("title", page, value="Mine", act="save")
    assert answer.status_code == 409
    assert "has changed since you opened it" in answer.text
    assert "Now this cell says “Of somebody else”." in answer.text
    assert 'value="Mine"' in answer.text
    assert lamp.value("title") == "Of somebody else"
    # The page that was answered knows the new state, so its form is taken.
    assert lamp.send("title", answer.text, value="Mine", act="save").status_code == 303
    assert lamp.value("title") == "Mine"


def test_a_form_that_is_sent_twice_writes_once(lamp: Lamp) -> None:
    page = lamp.alice.get(lamp.path)
    assert [lamp.send("title", page, value="Torch", act="save").status_code for _ in "ab"] == [
        303,
        303,
    ]
    assert (
        lamp.alice.get(lamp.path).count("by hand,") + lamp.alice.get(lamp.path).count("by hand<")
        <= 2
    )


def test_the_history_names_who_changed_what(lamp: Lamp, store: Store) -> None:
    lamp.send("title", value="Torch", act="save")
    page = lamp.alice.get(lamp.path)
    assert "<del>Lamp</del><ins>Torch</ins>" in page
    assert "by hand<" in page
    key = accounts.create_key(store, "alice", "my phone")
    World(store, "alice").edit(lamp.dataset, "title", "Lantern", ids.KeyId(ids.raw_id(key["id"])))
    for path in (lamp.path, f"{lamp.path.partition('/rows')[0]}/changes"):
        assert "by hand, <bdi>my phone</bdi>" in lamp.alice.get(path)


def test_a_number_that_changed_is_plotted(lamp: Lamp, store: Store) -> None:
    first, *others = made.ITEMS
    for price in (11, 9):
        made.take(store, lamp.dataset, [{**first, "price": price}, *others], owner="alice")
    made.take(store, lamp.dataset, others, owner="alice")
    page = lamp.alice.get(lamp.path)
    assert 'aria-label="From 10 to 9; the lowest is 9, the highest 11."' in page


def test_the_history_of_one_cell_stands_alone(lamp: Lamp, store: Store) -> None:
    changed = {**made.ITEMS[0], "price": 12}
    made.take(store, lamp.dataset, [changed, *made.ITEMS[1:]], owner="alice")
    lamp.send("title", act="save", value="mine")
    whole = lamp.alice.as_json(lamp.path)["changes"]
    prices = lamp.alice.as_json(f"{lamp.path}?field={lamp.fields['price']}")["changes"]
    assert [change["sequence"] for change in prices] == [whole[1]["sequence"], whole[2]["sequence"]]
    page = lamp.alice.get(f"{lamp.path}?field={lamp.fields['price']}")
    assert "History of <bdi>price</bdi>" in page
    assert 'aria-label="From 10 to 12' in page
    title = lamp.alice.get(f"{lamp.path}?field={lamp.fields['title']}")
    assert "over time" not in title
    assert "This cell has not changed." in lamp.alice.get(
        f"{lamp.path}?field={lamp.fields['note']}"
    )


def test_a_line_says_that_it_does_not_begin_with_the_row(lamp: Lamp, store: Store) -> None:
    assert "earlier changes" not in lamp.alice.get(lamp.path)
    lamp_now, *others = made.ITEMS
    for price in range(51):
        made.take(store, lamp.dataset, [{**lamp_now, "price": price}, *others], owner="alice")
    newest, oldest = lamp.alice.pages(lamp.path)
    assert "A line covers the changes of its page" in newest
    assert 'aria-label="From 1 to 50' in newest
    assert "A line covers" not in oldest
    assert 'aria-label="From 10 to 0' in oldest


def test_bob_can_neither_see_nor_edit_it(lamp: Lamp, bob: Visitor) -> None:
    bob.get(lamp.path, 404)
    form = {"value": "x", "act": "save", "revision": str(lamp.detail["revisionId"])}
    path = f"{lamp.path}/cells/{lamp.fields['title']}"
    assert bob.post(path, bob.token("/"), **form).status_code == 404
    assert lamp.value("title") == "Lamp"


def test_a_form_of_nonsense_is_refused(lamp: Lamp) -> None:
    for form in ({"revision": "x"}, {"revision": ""}, {"request": "x" * 500, "act": "reset"}):
        assert lamp.send("title", **{"value": "y", **form}).status_code in {409, 422}
    unknown = f"{lamp.path}/cells/{lamp.id}"
    assert lamp.alice.post(unknown, lamp.alice.token("/"), value="x").status_code == 400
    assert lamp.value("title") == "Lamp"
