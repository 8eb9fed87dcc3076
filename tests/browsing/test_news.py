"""What is new over all datasets: since the last visit, or in the days that a person chooses."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.pages.datasets import CARDS, ON_A_PAGE
from livedata.pages.news import BOUNDS, FIRST, WHILE
from livedata.services import queries
from livedata.services.whats_new import OF_A_NEW_TABLE
from tests import made
from tests.browsing.test_changes import numbers
from tests.browsing.test_table import path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

DAY = 86_400
LATER = WHILE // 1_000_000 + 60
"""So many seconds later it is another visit."""
_ROW = re.compile(
    r'<th scope="row"><a href="[^"]+"><bdi>(.*?)</bdi></a>'
    r"(?: <small><bdi>(.*?)</bdi></small>)?</th>\s*"
    r'<td><span class="fresh \w+">(\w+)</span>( <span class="pill">not seen yet</span>)?</td>'
)
LAMP, CHAIR, MUG = made.ITEMS


def rows_of(page: str) -> list[tuple[str, str]]:
    """The key of the row and the kind of each line."""
    return [(match[2] or match[1], match[3]) for match in _ROW.finditer(page)]


def unseen(page: str) -> list[str]:
    """The rows that are marked."""
    return [match[2] or match[1] for match in _ROW.finditer(page) if match[4]]


def sections(page: str) -> list[str]:
    """The names of the datasets that have something new, in order."""
    return re.findall(r"<h[23]><a [^>]*><bdi>(.*?)</bdi></a></h[23]>", page)


def today() -> str:
    return ids.format_timestamp(ids.now())[:10]


def test_a_first_visit_shows_the_last_days_and_the_next_what_came_since(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP, CHAIR], owner=alice.owner)
    first = alice.get("/changes")
    assert "the first visit of this browser" in first
    assert rows_of(first) == rows_of(alice.get("/changes")) == [("A1", "new"), ("B2", "new")]
    clock(LATER)
    assert "Nothing is new." in alice.get("/changes")
    made.take(store, dataset, [{**LAMP, "price": 12}, MUG], owner=alice.owner)
    for seconds in (LATER + 10, LATER + 20, 2 * LATER - 120):
        # Whoever loads it again within a while is shown the same.
        clock(seconds)
        page = alice.get("/changes")
        assert rows_of(page) == [("C3", "new"), ("A1", "changed"), ("B2", "gone")]
    assert "<del>" in page
    assert re.search(r"<del>.*10.*</del> → <ins>.*12.*</ins>", page)
    clock(4 * LATER)
    assert rows_of(alice.get("/changes")) == []


def test_the_datasets_begin_with_the_first_of_what_is_new_and_to_look_at_them_is_a_visit(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    assert "in the last 7 days" in alice.get("/")
    clock(LATER)
    assert "Nothing has changed." in alice.get("/")
    made.take(store, dataset, World(store, alice.owner).items(30), owner=alice.owner)
    for path in ("/", "/changes", "/"):
        page = re.sub("</?data[^>]*>", "", alice.get(path))
        assert ("since your last visit" in page.lower(), "30 new rows" in page) == (True, True)
        assert "<li>first Run, 30 new rows</li>" in page
        assert rows_of(page) == []
    clock(3 * LATER)
    assert "Nothing has changed." in alice.get("/")


def test_a_table_that_is_new_as_a_whole_is_a_line_below_what_has_changed(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    changing = made.make_dataset(store, alice.owner, "changing")
    made.take(store, changing, [LAMP, CHAIR], owner=alice.owner)
    alice.get("/changes")
    clock(LATER)
    made.take(store, changing, [LAMP], owner=alice.owner)
    dataset = made.make_dataset(store, alice.owner, "fresh")
    items = [*World(store, alice.owner).items(BOUNDS.revisions + 10)]
    made.take(store, dataset, items, owner=alice.owner)
    for path in ("/", "/changes"):
        page = re.sub("</?data[^>]*>", "", alice.get(path))
        assert f"<li>first Run, {BOUNDS.revisions + 10} new rows</li>" in page
        assert sections(page) == ["changing", "fresh"]
        assert rows_of(page) == [("B2", "gone")]
    # A program is told the first rows, in the order of the table.
    told = {each["dataset"]["name"]: each for each in alice.as_json("/changes")["data"]}
    names = re.findall(r'<th scope="row"><a [^>]*><bdi>(.*?)</bdi>', alice.get(path_of(dataset)))
    shown = [change["row"] for change in told["fresh"]["changes"]]
    assert len(shown) == OF_A_NEW_TABLE
    assert [f"Lamp {int(key[1:])}" for key in shown] == names[:OF_A_NEW_TABLE]


def test_the_datasets_tell_how_many_more_have_changed(alice: Visitor, store: Store) -> None:
    for number in range(FIRST.datasets + 2):
        made.take(store, made.make_dataset(store, alice.owner, f"n{number}"), owner=alice.owner)
    page = re.sub("</?data[^>]*>", "", alice.get("/"))
    assert '<a href="/changes">2 datasets more with changes</a>' in page
    assert len(set(sections(page))) == FIRST.datasets
    assert alice.as_json("/")["news"][0]["rowDeltas"]["new"] == len(made.ITEMS)


def test_later_pages_of_the_datasets_have_neither_news_nor_trouble(
    alice: Visitor, store: Store
) -> None:
    for number in range(ON_A_PAGE + 1):
        made.make_dataset(store, alice.owner, f"n{number}")
    made.take(store, made.make_dataset(store, alice.owner, "last"), owner=alice.owner)
    first, second = alice.pages("/")
    assert ("What is new</h2>" in first, "What is new</h2>" in second) == (True, False)


def test_of_all_in_trouble_some_are_told_with_the_reason_and_all_by_name(
    alice: Visitor, store: Store
) -> None:
    world = World(store, alice.owner)
    # More than the list has on its first page: that of the oldest is told too.
    names = [f"n{number:02}" for number in range(ON_A_PAGE + 2)]
    for name in names:
        dataset = made.make_dataset(store, alice.owner, name)
        if int(name[1:]) < CARDS + 3:
            world.blocked(dataset)
    page = alice.get("/")
    cards = re.findall(r'<section class="decision blocked" aria-label="(.*?)">', page)
    assert cards == [f"n{number:02}" for number in range(CARDS + 2, 2, -1)]
    also = page.partition("Not accepted either: ")[2].partition("</p>")[0]
    assert re.findall(r"<bdi>(.*?)</bdi>", also) == ["n02", "n01", "n00"]
    assert f"<title>({CARDS + 3}) Datasets" in page


def test_the_button_of_what_is_in_trouble_runs_it_again(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    World(store, alice.owner).blocked(dataset)
    for page in (alice.get("/"), alice.get("/changes")):
        (form,) = re.findall(r'<form method="post" action="(/datasets/[^"]+)">', page)
        assert form == f"{path_of(dataset)}/runs"
    answer = alice.post(form, alice.token("/"))
    assert answer.status_code == 303
    assert queries.runs(store, alice.owner, dataset, 9)[0]["status"] == "queued"


def test_each_owner_and_each_browser_has_visits_of_its_own(
    alice: Visitor, bob: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    for visitor in (alice, bob):
        made.take(store, made.make_dataset(store, visitor.owner), owner=visitor.owner)
    alice.get("/changes")
    clock(LATER)
    assert rows_of(bob.get("/changes"))
    assert not rows_of(alice.get("/changes"))
    # Bob signs in where Alice has looked.
    token = alice.token("/sign-in")
    assert alice.post("/sign-in", token, key=bob.key).status_code == 303
    assert "the first visit of this browser" in alice.get("/changes")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "kept", ["", "x", "1", "1.2.3", "-1.5", "5.1", "1.99999999999999999", "9" * 40, "१.२"]
)
def test_a_visit_that_no_browser_of_ours_keeps_counts_as_none(alice: Visitor, kept: str) -> None:
    alice.get("/changes")
    (name,) = [key[2] for key in alice.client._cookies or () if key[2].startswith("livedata-seen")]
    alice.client.set_cookie(name, kept)
    assert "the first visit of this browser" in alice.get("/changes")


def test_days_have_an_address_to_keep_and_what_was_not_seen_is_marked(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP], owner=alice.owner)
    alice.get("/changes")
    first = today()
    clock(DAY)
    second = today()
    made.take(store, dataset, [LAMP, CHAIR], owner=alice.owner)
    alice.sign_in()
    page = alice.get(f"/changes?since={first}")
    assert rows_of(page) == [("A1", "new"), ("B2", "new")]
    assert unseen(page) == ["B2"]
    assert rows_of(alice.get(f"/changes?since={second}")) == [("B2", "new")]
    assert rows_of(alice.get(f"/changes?since={first}&until={first}")) == [("A1", "new")]
    assert rows_of(alice.get(f"/changes?until={first}")) == [("A1", "new")]
    clock(3 * DAY)
    made.take(store, dataset, [LAMP, CHAIR, MUG], owner=alice.owner)
    alice.sign_in()
    assert rows_of(alice.get(f"/changes?since={second}&until={second}")) == [("B2", "new")]


@pytest.mark.one_database
@pytest.mark.parametrize("query", ["?since=yesterday", "?until=0", "?since=2026-02-30", "?after=x"])
def test_what_is_no_day_is_refused_in_a_sentence(alice: Visitor, query: str) -> None:
    assert "begin at" in alice.get(f"/changes{query}", 400)


@pytest.mark.parametrize("query", ["?since=0001-01-01", "?since=9999-12-31", "?until=9999-12-31"])
def test_the_ends_of_the_calendar_are_days_too(alice: Visitor, query: str) -> None:
    assert "Nothing is new." in alice.get(f"/changes{query}")


def test_a_dataset_leads_to_its_changes_of_the_same_time(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP], owner=alice.owner)
    alice.get("/changes")
    clock(LATER)
    made.take(store, dataset, [LAMP, CHAIR], owner=alice.owner)
    link = re.search(r'<a href="([^"]+)">all its changes<', alice.get("/changes"))
    assert link is not None
    assert numbers(alice.get(link[1].replace("&amp;", "&"))) == [2]


def test_those_in_trouble_stand_first_with_the_sentence_of_their_last_run(
    alice: Visitor, store: Store
) -> None:
    world = World(store, alice.owner)
    world.blocked(made.make_dataset(store, alice.owner, "broken"))
    made.take(store, made.make_dataset(store, alice.owner, "well"), owner=alice.owner)
    page = alice.get("/changes")
    assert sections(page) == ["well"]
    assert -1 < page.find('aria-label="broken"') < page.find("<table")
    (broken,) = [
        each for each in queries.datasets(store, alice.owner, 9) if each["name"] == "broken"
    ]
    assert broken["lastRun"] is not None
    assert f'href="/runs/{broken["lastRun"]["id"]}">See why' in page


def test_as_json_it_is_what_the_shell_prints_and_no_visit(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP], owner=alice.owner)
    (told,) = alice.as_json("/changes")["data"]
    assert (told["dataset"]["name"], told["isExact"], told["moreChanges"]) == ("shop", True, 0)
    assert [change["row"] for change in told["changes"]] == ["A1"]
    clock(LATER)
    before = alice.client.get("/changes?as=json").headers.getlist("Set-Cookie")
    assert before == []


def test_a_table_that_changed_much_shows_a_part_and_says_how_much_more(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(BOUNDS.revisions + 11)
    made.take(store, dataset, items[:1], owner=alice.owner)
    alice.get("/changes")
    clock(LATER)
    made.take(store, dataset, items, owner=alice.owner)
    page = re.sub("</?data[^>]*>", "", alice.get("/changes"))
    assert "its first Run" not in page
    assert len(rows_of(page)) == BOUNDS.rows_of_each
    assert f"{BOUNDS.revisions + 10} changes</li>" in page
    assert f"{BOUNDS.rows_of_each} rows shown" in page
