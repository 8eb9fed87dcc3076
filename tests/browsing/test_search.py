"""A text is searched in all datasets of an owner: what they are called, and what their rows say."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.ids import OwnerName
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, queries
from livedata.services.pages import search as service
from livedata.services.pages.search import marked
from tests import made
from tests.browsing.test_table import keys, path_of
from tests.browsing.world import World
from tests.services.research_table import ResearchTable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_SECTION = re.compile(r'<tbody class="hits">.*?</tbody>', re.DOTALL)
_MARKED = re.compile(r"<mark>([^<]*)</mark>")


def found(page: str) -> list[str]:
    """What each dataset of a page that has the text says, as a reader sees it."""
    return [
        " ".join(unescape(re.sub("<[^>]*>", "", section.replace("</td>", " "))).split())
        for section in _SECTION.findall(page)
    ]


@pytest.fixture
def tables(store: Store, alice: Visitor) -> dict[str, ids.DatasetId]:
    """Three datasets of Alice."""
    made_of: dict[str, list[Mapping[str, Scalar]]] = {
        "teas": [{"sku": "T1", "title": "Green tea", "price": 4.5, "stock": True}],
        "lamps": [
            {"sku": f"L{n}", "title": f"Lamp {n}", "price": n, "stock": n == 3} for n in range(9)
        ],
        "books": [{"sku": "TEA-9", "title": "Steam engines", "price": None, "stock": None}],
    }
    tables = {}
    for name, items in made_of.items():
        tables[name] = made.make_dataset(store, alice.owner, name)
        made.take(store, tables[name], items, owner=alice.owner)
    return tables


def test_rows_are_told_by_dataset_with_the_cell_that_has_the_text(
    alice: Visitor, store: Store, tables: dict[str, ids.DatasetId]
) -> None:
    page = alice.get("/search?q=TEA")
    assert found(page) == [
        "books 1 row Steam engines TEA-9",
        "teas 1 row Green tea T1 price: 4.5 · stock: yes",
    ]
    assert _MARKED.findall(page) == ["tea", "tea", "tea"]
    (row,) = queries.rows(store, alice.owner, tables["teas"], 5)[0]
    assert f'<a href="{path_of(tables["teas"])}/rows/{row["id"]}">' in page
    assert "Found in <data" in page


def test_one_row_has_it_two_have_it_and_one_that_is_gone_says_so(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    lamp, chair, mug = made.ITEMS
    made.take(store, dataset, [lamp, chair, {**mug, "title": "Lamp shade"}], owner=alice.owner)
    pages = [re.sub("</?data[^>]*>", "", alice.get(f"/search?q={q}")) for q in ("chair", "lamp")]
    assert ["1 row has it." in pages[0], "2 rows have it." in pages[1]] == [True, True]
    gone = '<span class="fresh gone">gone</span>'
    assert gone not in pages[1]
    made.take(store, dataset, [lamp, chair], owner=alice.owner)
    assert alice.get("/search?q=lamp").count(gone) == 1
    assert gone in alice.get("/search?q=shade")


def test_a_cell_that_is_no_name_stands_beside_it_with_its_label(
    alice: Visitor, store: Store, tables: dict[str, ids.DatasetId]
) -> None:
    World(store, alice.owner).edit(tables["lamps"], "note", "from the cellar")
    assert found(alice.get("/search?q=cellar")) == ["lamps 1 row Lamp 0 L0 note from the cellar"]
    assert found(alice.get("/search?q=4.5")) == ["teas 1 row Green tea T1 price 4.5"]
    assert found(alice.get("/search?q=TEA-9")) == ["books 1 row Steam engines TEA-9 sku TEA-9"]


@pytest.mark.usefixtures("tables")
def test_a_dataset_is_found_by_its_name_its_question_and_its_address(
    alice: Visitor, store: Store
) -> None:
    assert found(alice.get("/search?q=book")) == ["books"]
    by_address = alice.get("/search?q=shop.example")
    assert found(by_address) == [
        f"{name} read from https://shop.example/list" for name in ("books", "lamps", "teas")
    ]
    asked = {**made.declared("prices"), "question": "What do books cost?"}
    datasets.create(store, alice.owner, read(CreateDataset, asked), TargetPolicy())
    assert found(alice.get("/search?q=do+book")) == ["prices What do books cost?"]


def test_more_rows_than_are_told_stand_in_the_table_that_a_link_leads_to(
    alice: Visitor, tables: dict[str, ids.DatasetId]
) -> None:
    page = alice.get("/search?q=lamp")
    (section,) = _SECTION.findall(page)
    assert section.count('<th scope="row">') == service.ROWS
    assert "9 rows" in found(page)[0]
    (to,) = re.findall(r'<a href="([^"]*)">all 9 in this table<', section)
    assert len(keys(alice.get(unescape(to)))) == 9
    assert path_of(tables["lamps"]) in to


@pytest.mark.usefixtures("tables")
def test_what_was_not_looked_at_is_said_and_led_to(
    alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "_OF_EACH", 100)
    page = alice.get("/search?q=lamp+0")
    assert "Not found in" in page
    told = re.search(r'Of <bdi>lamps</bdi> the newest .* looked at: <a href="(.*)">', page)
    assert told is not None
    assert keys(alice.get(unescape(told[1]))) == ["L0"]


def test_a_page_ends_where_enough_was_looked_at_and_the_next_one_goes_on(
    alice: Visitor, tables: dict[str, ids.DatasetId], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = found(alice.get("/search?q=e"))
    assert len(whole) == 3
    monkeypatch.setattr(service, "_TOGETHER", 1)
    pages = [*alice.pages("/search?q=e")]
    assert [each for page in pages for each in found(page)] == whole
    assert len(pages) == len(tables)
    assert "looked through on the next page" in pages[0]
    assert 'rel="prev"' in pages[1]
    assert 'rel="prev"' not in pages[0]


@pytest.mark.parametrize("text", ["", "  ", "nothing+like+it"])
def test_what_is_not_there_is_not_found(
    alice: Visitor, tables: dict[str, ids.DatasetId], text: str
) -> None:
    page = alice.get(f"/search?q={text}")
    assert found(page) == []
    assert ("Not found in" in page) == bool(text.strip())
    assert len(tables) == 3


@pytest.mark.usefixtures("tables")
def test_where_nothing_has_a_text_what_was_searched_is_said_and_what_may_help(
    alice: Visitor,
) -> None:
    page = alice.get("/search?q=lamp+of+silver")
    told = " ".join(re.sub("<[^>]*>", "", page).split())
    assert "Not found in 3 datasets: in no name, question or address of them" in told
    assert "cell of their 11 rows." in told
    assert '<a href="/search?q=silver"><bdi>silver</bdi></a>' in page
    assert 'href="/search?q=lam"' not in alice.get("/search?q=lamp")
    assert 'href="/search?q=lampion"' in alice.get("/search?q=lampionless")


def test_an_empty_search_shows_what_could_be_searched_of_the_tables_of_the_owner(
    alice: Visitor, bob: Visitor, store: Store, tables: dict[str, ids.DatasetId]
) -> None:
    World(store, alice.owner).edit(tables["lamps"], "note", "from the cellar")
    page = alice.get("/search")
    texts = ("Steam engines", "TEA-9", "from the cellar", "shop.example", "books")
    for text in texts:
        to = f'href="/search?q={text.replace(" ", "%20")}"'
        assert to in page, text
        assert "Found in" in alice.get(f"/search?q={text}"), text
    assert "There is no row yet." in bob.get("/search")
    assert "such as" not in bob.get("/search")


def test_rows_are_counted_as_far_as_a_search_looks(
    alice: Visitor, tables: dict[str, ids.DatasetId], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tables
    monkeypatch.setattr(service, "ROWS", 2)
    monkeypatch.setattr(service, "_COUNTED", 1)
    page = re.sub("</?data[^>]*>", "", alice.get("/search?q=lamp"))
    assert "At least 3 rows have it." in page
    assert "at least 3 rows" in page
    assert ">all of them in this table<" in page


@pytest.mark.usefixtures("tables")
def test_many_hits_share_the_lines_of_a_page(
    alice: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LINES", 4)
    page = alice.get("/search?q=a")
    counts = [section.count('<th scope="row">') for section in _SECTION.findall(page)]
    assert counts == [1, 2, 1]


def test_a_text_that_is_too_long_is_refused(alice: Visitor) -> None:
    assert "q is longer than 200 characters" in alice.get(f"/search?q={'x' * 201}", 400)


def test_the_page_of_the_datasets_has_the_form(
    alice: Visitor, tables: dict[str, ids.DatasetId]
) -> None:
    page = alice.get("/")
    assert '<form class="row find" method="get" action="/search" role="search"' in page
    assert tables


def test_as_json_it_has_the_same(alice: Visitor, tables: dict[str, ids.DatasetId]) -> None:
    answer = json.loads(alice.get("/search?q=green&as=json"))
    (dataset,) = answer["data"]
    assert dataset["id"] == ids.format_uuid(tables["teas"])
    assert dataset["rows"][0]["name"] == {"name": "Green tea", "key": "T1"}
    assert (dataset["hasMore"], dataset["lookedAt"], dataset["ofName"]) == (False, None, None)
    assert dataset["rows"][0]["said"] == {"before": "", "hit": "Green", "after": " tea"}
    assert (answer["lookedThrough"], answer["next"], answer["previous"]) == (3, None, None)


def test_bob_finds_nothing_of_alice(
    bob: Visitor, store: Store, tables: dict[str, ids.DatasetId]
) -> None:
    for text in ("tea", "lamps", "shop.example"):
        assert found(bob.get(f"/search?q={text}")) == []
    assert service.search(store, OwnerName("bob"), "e").datasets == []
    assert len(service.search(store, OwnerName("alice"), "e").datasets) == len(tables)


def test_a_row_of_research_is_found_by_its_name(alice: Visitor, store: Store) -> None:
    table = ResearchTable(store, alice.owner, name="makers")
    table.take({"Acme": {"City": "Bern"}})
    assert "Acme" in found(alice.get("/search?q=acme"))[0]
    assert "City Bern" in found(alice.get("/search?q=bern"))[0]
    assert found(alice.get("/search?q=entity:")) == []


@given(st.text(max_size=300), st.integers(0, 300), st.integers(1, 40))
def test_an_excerpt_has_the_text_that_was_searched(text: str, begin: int, length: int) -> None:
    needle = text[begin : begin + length].casefold()
    part = marked(text, needle)
    if not needle:
        assert part is None
        return
    assert part is not None
    assert needle in part.hit.casefold()
    assert f"{part.before.removeprefix('…')}{part.hit}" in text or part.before == "…"
    assert len(part.hit) <= len(needle)


@pytest.mark.parametrize(
    ("text", "needle", "hit"),
    [
        ("Straße 7", "strass", "Straß"),
        ("ﬁne ﬁsh", "fish", "ﬁsh"),
        ("İx", "x", "x"),
        ("a", "b", None),
    ],
)
def test_letters_that_are_several_without_their_case_are_marked_whole(
    text: str, needle: str, hit: str | None
) -> None:
    part = marked(text, needle)
    assert (part.hit if part else None) == hit
