"""Shared addresses in a browser: one is made and shown once, read without a key, and revoked."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from html import escape, unescape
from typing import TYPE_CHECKING, Any

import pytest

from livedata.formats.forms import CHANGE_FORMS, ROW_FORMS
from livedata.model import ids
from livedata.services import queries, shares
from livedata.services.pages import sessions
from tests import made
from tests.browsing.payloads import ALL
from tests.browsing.test_notices import beside
from tests.browsing.test_reflections import Tags
from tests.browsing.visitor import Visitor
from tests.browsing.world import World
from tests.cli.shell import Shell

if TYPE_CHECKING:
    from pathlib import Path

    from flask import Flask
    from werkzeug.test import TestResponse

    from livedata.model.account import Share
    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.services.conftest import Clock

ADDRESS = re.compile(r">http://localhost(/share/[A-Za-z0-9_-]{43}/shop\.csv)</code>")


@pytest.fixture
def dataset(store: Store, alice: Visitor) -> DatasetId:
    """A dataset of Alice with rows."""
    raw = made.make_dataset(store, alice.owner)
    made.take(store, raw, owner=alice.owner)
    return raw


class SharesPage:
    """Somebody who has opened the page of the addresses of a dataset, and sends its forms."""

    def __init__(self, visitor: Visitor, dataset: DatasetId) -> None:
        self.visitor, self.path = visitor, f"/datasets/{ids.format_uuid(dataset)}/shares"
        self.page = visitor.get(self.path)
        self.request = re.findall(r'name="request" value="([^"]+)"', self.page)[0]

    def send(self, **typed: Any) -> TestResponse:
        """Send the form of the page that is open."""
        form = {"token": self.visitor.token(self.path), "request": self.request, **typed}
        return self.visitor.client.post(self.path, data=form)

    def make(self, code: int = 200, **typed: Any) -> str:
        """Send the form; the page of the answer."""
        answer = self.send(**typed)
        assert answer.status_code == code, unescape(answer.text)
        return answer.text

    def revoke(self, share: str) -> TestResponse:
        """Revoke an address."""
        return self.visitor.post(f"{self.path}/{share}/revoke", self.visitor.token(self.path))


def listed(store: Store, dataset: DatasetId, owner: str = "alice") -> list[Share]:
    return shares.list_shares(store, ids.OwnerName(owner), dataset)


def test_an_address_is_made_and_shown_in_that_answer_alone(
    app: Flask, alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    opened = SharesPage(alice, dataset)
    page = opened.make(label="for Ada", columns=["title", "price"], where="price < 20")
    (path,) = ADDRESS.findall(page)
    (share,) = listed(store, dataset)
    assert (share["label"], share["columns"], share["where"]) == (
        *("for Ada", ["title", "price"], ["price < 20"]),
    )
    read = app.test_client().get(path)
    assert read.status_code == 200
    assert read.text.startswith("title,price")
    for shown in (alice.get(opened.path), alice.get(f"{opened.path}?as=json")):
        assert path.split("/")[2] not in shown
        assert "for Ada" in shown
    assert alice.as_json(opened.path)["data"] == [share]


def test_a_form_makes_what_the_command_makes(app: Flask, store: Store, tmp_path: Path) -> None:
    local = Visitor.meet(app, store, "local")
    raw = made.make_dataset(store, "local")
    SharesPage(local, raw).make(columns=["title"], where="price < 20\r\ntitle is not empty")
    Shell(tmp_path)(
        *("share", "add", "shop", "--columns", "title", "--where", "price < 20"),
        *("--where", "title is not empty"),
    )
    by_page, by_command = ({**share} for share in listed(store, raw, "local"))
    for share in (by_page, by_command):
        del share["id"], share["createdAt"]
    assert by_page == by_command


def ticked(page: str) -> list[str]:
    """The clauses of the form, in words."""
    return re.findall(r'name="where" value="[^"]+" checked> <bdi>([^<]*)', page)


def test_all_columns_are_ticked_at_first_and_mean_those_to_come_too(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    opened = SharesPage(alice, dataset)
    columns = re.findall(r'name="columns" value="(\w+)" checked', opened.page)
    assert columns == [each["name"] for each in queries.dataset(store, "alice", dataset)["columns"]]
    opened.make(columns=["", *columns], label="all")
    opened.make(columns=["", *columns[1:]], label="some")
    assert [share["columns"] for share in listed(store, dataset)] == [None, columns[1:]]
    page = opened.make(422, columns=[""])
    assert "Choose one column at least." in beside(page, "columns")
    assert not re.search(r'name="columns" value="\w+" checked', page)
    assert len(listed(store, dataset)) == 2


def test_of_many_columns_none_is_ticked_until_only_some_are_meant(
    alice: Visitor, store: Store
) -> None:
    columns = [{**made.COLUMNS[2], "name": f"price{number}"} for number in range(40)]
    dataset = made.make_dataset(store, alice.owner, "wide", [made.COLUMNS[0], *columns])
    opened = SharesPage(alice, dataset)
    boxes = re.compile(r'name="columns" value="(\w+)" checked')
    assert 'value="all" checked> <span>All, also later ones' in opened.page
    assert boxes.findall(opened.page) == []
    page = opened.make(422, scope="these", columns=[""])
    assert "Choose one column at least." in beside(page, "columns")
    page = opened.make(422, scope="these", columns=["", "price1"], where="cost")
    assert 'value="these" checked> Only these:' in page
    assert boxes.findall(page) == ["price1"]
    opened.make(scope="all", columns=["", "price1"], label="all")
    opened.make(scope="these", columns=["", "price1"], label="one")
    every = [each["name"] for each in queries.dataset(store, "alice", dataset)["columns"]]
    opened.make(scope="these", columns=["", *every], label="those of now")
    assert [share["columns"] for share in listed(store, dataset)] == [None, ["price1"], every]


def test_clauses_are_added_by_fields_and_taken_away_by_their_boxes(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    opened = SharesPage(alice, dataset)
    price = next(
        each["id"]
        for each in queries.dataset(store, "alice", dataset)["columns"]
        if each["name"] == "price"
    )
    row: dict[str, Any] = {"filter": price, "operator": "<", "value": "20"}
    page = opened.make(**row, add="clause", label="Ada", where=["title is not empty", ""])
    assert ticked(page) == ["title is not empty", "price is below 20"]
    assert 'name="label" value="Ada"' in page
    assert listed(store, dataset) == []
    # What stands in the fields counts too if nobody has pressed "Add", once.
    opened.make(**row, where=["price < 20", "title is not empty"])
    assert listed(store, dataset)[0]["where"] == ["price < 20", "title is not empty"]
    page = opened.make(422, filter=price, operator="<", value="cheap", where="title is not empty")
    assert "is no number" in beside(page, "where")
    assert ticked(page) == ["title is not empty"]
    assert 'name="value" value="cheap"' in page


def test_an_address_begins_the_form(alice: Visitor, dataset: DatasetId) -> None:
    path = SharesPage(alice, dataset).path
    page = alice.get(f"{path}?columns=title,price&where=price+%3C+20&label=Ada")
    assert re.findall(r'name="columns" value="(\w+)" checked', page) == ["title", "price"]
    assert ticked(page) == ["price is below 20"]
    assert 'name="label" value="Ada"' in page
    # What is no column is not left out unsaid: more would be shared than was meant.
    assert "no column of this table" in alice.get(f"{path}?columns=cost")


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("typed", "field", "said"),
    [
        ({"label": "x" * 201}, "label", "A label has 1 to 200 characters."),
        ({"columns": ["cost"]}, "columns", "There is no column 'cost'"),
        ({"where": "cost < 20"}, "where", "names 'cost'"),
        ({"where": "price falls"}, "where", "falls"),
    ],
)
def test_what_is_wrong_is_said_beside_its_field_and_all_stays_typed(
    alice: Visitor, store: Store, dataset: DatasetId, typed: dict[str, Any], field: str, said: str
) -> None:
    page = SharesPage(alice, dataset).make(422, **{"where": "price < 7", "label": "Ada", **typed})
    assert said in beside(page, field)
    assert escape(typed.get("where", "price < 7")) in page
    assert f'name="label" value="{typed.get("label", "Ada")}"' in page
    assert listed(store, dataset) == []
    page = SharesPage(alice, dataset).make(422, label="x" * 201, columns=["cost"], where="cost")
    assert all(beside(page, each) for each in ("label", "columns", "where"))


def test_whoever_clicks_twice_makes_one_address_and_reads_it_both_times(
    alice: Visitor, store: Store, dataset: DatasetId, step: Clock
) -> None:
    opened = SharesPage(alice, dataset)
    first, second = opened.make(label="Ada"), opened.make(label="Ada")
    assert ADDRESS.findall(first) == ADDRESS.findall(second) != []
    assert len(listed(store, dataset)) == 1
    opened.make(label="Bob")
    assert len(listed(store, dataset)) == 2
    step(sessions.SHOWN_FOR // 1_000_000 + 1)
    page = opened.make(409, label="Ada")
    assert "it is not shown again" in page
    assert not ADDRESS.search(page)


def test_forms_that_come_at_the_same_moment_make_one_address(
    alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    owner = ids.OwnerName(alice.owner)
    with ThreadPoolExecutor(4) as threads:
        made_shares = [
            threads.submit(shares.add, store, owner, dataset, (), (), None, secret=b"s" * 32)
            for _ in range(8)
        ]
    assert len({share.result()[1] for share in made_shares}) == 1
    assert len(listed(store, dataset)) == 1


def test_a_revoked_address_opens_nothing_and_is_not_made_again(
    app: Flask, alice: Visitor, store: Store, dataset: DatasetId
) -> None:
    opened = SharesPage(alice, dataset)
    (path,) = ADDRESS.findall(opened.make())
    (share,) = listed(store, dataset)
    for _ in range(2):
        answer = opened.revoke(share["id"])
        assert (answer.status_code, answer.location) == (303, opened.path)
    assert app.test_client().get(path).status_code == 404
    assert "1</data> revoked" in alice.get(opened.path)
    assert not ADDRESS.search(opened.make(409))
    assert len(listed(store, dataset)) == 1


def test_addresses_of_alice_are_not_there_for_bob(
    alice: Visitor, bob: Visitor, store: Store, dataset: DatasetId
) -> None:
    opened = SharesPage(alice, dataset)
    opened.make()
    (share,) = listed(store, dataset)
    mine = SharesPage(bob, made.make_dataset(store, bob.owner))
    bob.get(opened.path, 404)
    token = bob.token("/")
    assert bob.post(opened.path, token, request=opened.request).status_code == 404
    for path in (opened.path, mine.path):
        assert bob.post(f"{path}/{share['id']}/revoke", token).status_code == 404
    assert not listed(store, dataset)[0]["revoked"]
    # Nor that of another dataset of hers, by the page of this one.
    other = SharesPage(alice, made.make_dataset(store, alice.owner, "other"))
    assert other.revoke(share["id"]).status_code == 404


@pytest.mark.one_database
def test_what_was_typed_is_repeated_as_text(alice: Visitor, dataset: DatasetId) -> None:
    opened = SharesPage(alice, dataset)

    def tags(text: str) -> Tags:
        return Tags(opened.make(422, label=text + "x" * 201, where=text, columns=[text]))

    expected = tags("harmless").tags
    for payload in ALL:
        if "," not in payload:
            assert tags(payload).tags == expected, payload


@pytest.mark.one_database
def test_no_address_is_in_the_log(
    alice: Visitor, dataset: DatasetId, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(0)
    (path,) = ADDRESS.findall(SharesPage(alice, dataset).make())
    assert "/shares" in caplog.text
    assert path.split("/")[2] not in caplog.text


def test_an_open_address_names_its_columns_by_their_labels(alice: Visitor, store: Store) -> None:
    dataset = World(store, alice.owner).shop()
    SharesPage(alice, dataset).make(columns=["title", "price"])
    page = alice.get(f"/datasets/{ids.format_uuid(dataset)}/shares")
    told = page.partition('<td data-label="Columns">')[2].partition("</td>")[0]
    assert re.sub("<[^>]*>", "", told) == "Title, Price"


def test_a_new_address_stands_there_once_for_each_form(
    app: Flask, alice: Visitor, dataset: DatasetId
) -> None:
    page = SharesPage(alice, dataset).make()
    paths = re.findall(r">http://localhost(/share/[^<]+)</code>", page)
    ends = [path.partition("/shop.")[2] for path in paths]
    assert {*ends} == {*ROW_FORMS, *CHANGE_FORMS}
    assert ends[0] == "csv"
    for path in paths:
        with app.test_client().get(path) as answer:
            assert answer.status_code == 200, path


def test_an_open_address_says_how_many_rows_it_shows_in_words(alice: Visitor, store: Store) -> None:
    dataset = World(store, alice.owner).shop()
    opened = SharesPage(alice, dataset)
    opened.make(label="all")
    opened.make(label="few", where=["price < 5", "title is not empty"])
    page = alice.get(opened.path)
    told = re.findall(r'<td data-label="Rows">(.*?)</td>', page)
    rows = [re.sub("<[^>]*>", "", each) for each in told]
    assert "all 39" in rows
    (few,) = [each for each in rows if "Price" in each]
    assert few.endswith(" where Price is below 5 and Title is not empty")
    # 39 lamps are there, of which each fifth has no price: K001 to K004 cost less than 5.
    assert few.split()[0] == "4"
