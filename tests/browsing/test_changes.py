"""The history of a dataset, newest first, and the address of its feed."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.pages.changes import FOLDED
from livedata.services import queries
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

_NUMBER = re.compile(r'<td class="number mark"><data value="(\d+)">')


@pytest.fixture
def shop(store: Store, alice: Visitor) -> ids.DatasetId:
    return World(store, alice.owner).shop()


def path_of(dataset: ids.DatasetId, query: str = "") -> str:
    return f"/datasets/{ids.format_uuid(dataset)}/changes{query}"


def numbers(page: str) -> list[int]:
    """The sequences of the changes on a page."""
    return [int(number) for number in _NUMBER.findall(page)]


def all_numbers(visitor: Visitor, path: str) -> list[int]:
    """The sequences on a page and on all that follow it."""
    return [number for page in visitor.pages(path) for number in numbers(page)]


def test_all_pages_together_are_the_whole_history_backwards(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, World(store, alice.owner).items(120), owner=alice.owner)
    assert all_numbers(alice, path_of(dataset)) == list(range(120, 0, -1))


def test_changes_are_narrowed_by_kind_column_and_day(
    alice: Visitor, store: Store, shop: ids.DatasetId
) -> None:
    columns = queries.dataset(store, alice.owner, shop)["columns"]
    (title,) = [column["id"] for column in columns if column["name"] == "title"]
    whole = len(all_numbers(alice, path_of(shop)))
    kinds = ("created", "updated", "missing", "returned", "baseline")
    parts = [len(all_numbers(alice, path_of(shop, f"?kind={kind}"))) for kind in kinds]
    assert sum(parts) == whole
    assert all(parts[:4])
    # Created with a title, edited by hand, and another title at the source.
    assert len(all_numbers(alice, path_of(shop, f"?field={title}"))) == 42
    assert all_numbers(alice, path_of(shop, f"?field={title}&kind=updated")) == sorted(
        all_numbers(alice, path_of(shop, f"?field={title}&kind=updated")), reverse=True
    )
    assert numbers(alice.get(path_of(shop, "?since=2999-01-01"))) == []
    assert len(all_numbers(alice, path_of(shop, "?since=2020-01-01"))) == whole


def test_the_pages_of_a_kind_have_each_change_of_it_once(alice: Visitor, store: Store) -> None:
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(120)
    made.take(store, dataset, items, owner=alice.owner)
    changed = [
        {**item, "title": "new"} if number % 2 else item for number, item in enumerate(items)
    ]
    made.take(store, dataset, changed, owner=alice.owner)
    for kind, expected in (("created", range(120, 0, -1)), ("updated", range(180, 120, -1))):
        assert all_numbers(alice, path_of(dataset, f"?kind={kind}")) == list(expected)


def test_both_days_of_a_span_count(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(4)
    days = []
    for number in range(4):
        clock(number * 86_400)
        days.append(ids.format_timestamp(ids.now())[:10])
        made.take(store, dataset, items[: number + 1], owner=alice.owner)
    for first, last in product(range(4), range(4)):
        query = f"?since={days[first]}&until={days[last]}"
        assert numbers(alice.get(path_of(dataset, query))) == list(range(last + 1, first, -1))
    assert numbers(alice.get(path_of(dataset, f"?until={days[1]}&before=2"))) == [1]


def test_each_day_has_a_heading_with_what_became_of_its_rows(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(80)
    days = []
    for number, seen in enumerate((items[:60], items[:70], [*items[:69], items[75]])):
        clock(number * 86_400)
        days.append(ids.to_datetime(ids.now()).date())
        made.take(store, dataset, seen, owner=alice.owner)
    newest, oldest = alice.pages(path_of(dataset))
    heading = re.compile(r'<h2>([^<]+)</h2>\s*<ul class="line">(.*?)<li><a', re.DOTALL)
    told = [
        (words, " ".join(re.sub("<[^>]+>", " ", facts).split()))
        for words, facts in (*heading.findall(newest), *heading.findall(oldest))
    ]
    names = [f"{day:%a} {day.day} {day:%b}" for day in days]
    assert told == [
        (f"Today, {names[2]}", "1 gone 1 new"),
        (f"Yesterday, {names[1]}", "10 new"),
        (names[0], "60 changes, 38 of them on this page"),
        (names[0], "60 changes, 22 of them on this page"),
    ]
    # What was left of a day is at the end of a link.
    (link,) = re.findall(rf'href="([^"]+to={days[1]})"', newest)
    assert "10 new" in re.sub("<[^>]+>", "", alice.get(link.replace("&amp;", "&")))


def test_days_and_times_are_those_of_the_zone(app: Flask, alice: Visitor, store: Store) -> None:
    shared = app.extensions["livedata"]
    app.extensions["livedata"] = replace(shared, zone="Pacific/Kiritimati")
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, owner=alice.owner)
    page = alice.get(path_of(dataset))
    (moment,) = {change["createdAt"] for change in alice.as_json(path_of(dataset))["data"]}
    there = datetime.fromisoformat(moment).astimezone(ZoneInfo("Pacific/Kiritimati"))
    assert f">{there:%H:%M}</time>" in page
    day, before = there.date(), there.date() - timedelta(days=1)
    assert f"to={day}" in page
    assert len(numbers(alice.get(path_of(dataset, f"?since={day}&until={day}")))) == 3
    assert numbers(alice.get(path_of(dataset, f"?until={before}"))) == []


def test_a_change_of_many_cells_tells_some_and_leads_to_the_row_that_has_all(
    alice: Visitor, store: Store
) -> None:
    names = [f"column{number}" for number in range(1, 41)]
    columns = [{"name": name, "type": "string", "key": name == "column1"} for name in names]
    dataset = made.make_dataset(store, alice.owner, columns=columns)
    items = [{name: f"{name} of {row}" for name in names} for row in range(50)]
    made.take(store, dataset, items, owner=alice.owner)
    page = alice.get(path_of(dataset))
    assert len(page) < 100_000
    (row, more) = re.search(r'<a href="([^"]*)">(\d+) more cells</a>', page).groups()  # type: ignore[union-attr]
    assert int(more) == 30
    history = alice.get(row).partition('id="history"')[2]
    folded = history.partition("<summary>40 cells</summary>")[2].partition("</details>")[0]
    assert all(f"{name} of 49" in folded for name in names)


def cells(page: str, number: int) -> str:
    """What a page tells of the cells of a change, without markup."""
    (told,) = re.findall(
        rf'<td class="\w+">((?:(?!<td).)*)</td>'
        rf'<td class="number mark"><data value="{number}">',
        page,
        re.DOTALL,
    )
    return " ".join(re.sub("<[^>]+>", "", told).split())


def test_a_new_row_is_not_named_twice_and_one_that_is_gone_tells_what_it_had_last(
    alice: Visitor, store: Store
) -> None:
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(3)
    made.take(store, dataset, items, owner=alice.owner)
    made.take(store, dataset, items[:2], owner=alice.owner)
    page = alice.get(path_of(dataset))
    assert cells(page, 2) == "price: 1.5 stock: no"
    assert cells(page, 4) == "last: price: 2.5 stock: yes"


def test_a_source_that_moved_below_a_hand_edit_is_told_with_what_it_was(
    alice: Visitor, shop: ids.DatasetId
) -> None:
    page = alice.get(path_of(shop))
    (told,) = re.findall(r'<div class="mark">source: (<span.*?</span>)</div>', page)
    removed, added = (re.findall(f"<{tag}>(.*?)</{tag}>", told) for tag in ("del", "ins"))
    assert (removed, added) == (["Lamp 0"], ["another title"])


def test_many_new_rows_of_one_run_stand_in_a_line_that_opens_to_them(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(FOLDED)
    made.take(store, dataset, items[1:], owner=alice.owner)
    assert "<summary>" not in alice.get(path_of(dataset)).partition("<table")[2]
    other = made.make_dataset(store, alice.owner, "other")
    run = made.take(store, other, items, owner=alice.owner)
    page = re.sub("</?(data|bdi)[^>]*>", "", alice.get(path_of(other)))
    line, _, rows = page.partition("<table")[2].partition("<table")
    assert f"<summary>{FOLDED} new: Lamp 7, Lamp 6, Lamp 5, …</summary>" in line
    assert rows.partition("</table>")[0].count("<tr>") == FOLDED
    # Whoever asks for just these is not asked to open them.
    for query in (f"?run={run}", "?kind=created"):
        asked = alice.get(path_of(other, query))
        assert "<summary>" not in asked.partition("<table")[2]
        assert len(numbers(asked)) == FOLDED


def test_what_narrows_the_changes_is_taken_away_piece_by_piece(
    alice: Visitor, shop: ids.DatasetId
) -> None:
    page = alice.get(path_of(shop, "?kind=missing&since=2020-01-01"))
    chips = re.findall(r'<bdi>([^<]+)</bdi> <a href="([^"]+)" aria-label="Take away', page)
    assert chips == [
        ("only gone", path_of(shop, "?since=2020-01-01")),
        ("since 2020-01-01", path_of(shop, "?kind=missing")),
    ]


def test_the_changes_of_a_run_stand_together_and_its_page_leads_to_them(
    alice: Visitor, store: Store
) -> None:
    dataset, items = made.make_dataset(store, alice.owner), World(store, alice.owner).items(5)
    made.take(store, dataset, items, owner=alice.owner)
    changed = [{**items[0], "price": 9}, *items[1:4]]
    run = made.take(store, dataset, changed, owner=alice.owner)
    World(store, alice.owner).edit(dataset, "title", "mine")
    page = alice.get(path_of(dataset))
    occasions = re.findall(r'<td class="when".*?</td>|' + _NUMBER.pattern, page, re.DOTALL)
    told = [number or "Run" for number in occasions]
    assert told == ["Run", "8", "Run", "7", "6", "Run", "5", "4", "3", "2", "1"]
    link = re.search(r'<a href="([^"]+)">see the changes</a>', alice.get(f"/runs/{run}"))
    assert link is not None
    assert numbers(alice.get(link[1])) == [7, 6]
    assert numbers(alice.get(f"{link[1]}&kind=missing")) == [7]
    unchanged = made.take(store, dataset, changed, owner=alice.owner)
    assert numbers(alice.get(path_of(dataset, f"?run={unchanged}"))) == []
    assert "see the changes" not in alice.get(f"/runs/{unchanged}")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "query",
    [
        "?run=x",
        "?kind=other",
        "?field=x",
        "?since=yesterday",
        "?before=x",
        "?before=-1",
        "?since=0",
        "?until=0",
    ],
)
def test_what_no_history_has_is_refused_in_a_sentence(
    alice: Visitor, shop: ids.DatasetId, query: str
) -> None:
    assert "begin at the changes again" in alice.get(path_of(shop, query), 400)


def test_an_empty_history_says_so(alice: Visitor, store: Store) -> None:
    assert "Nothing was accepted yet, so nothing has changed." in alice.get(
        path_of(made.make_dataset(store, "alice"))
    )


def test_a_feed_is_opened_and_ended(
    app: Flask, alice: Visitor, bob: Visitor, shop: ids.DatasetId
) -> None:
    path, feed = path_of(shop), path_of(shop).replace("/changes", "/feed")
    alice.post(feed, alice.token(path), act="open")
    address = re.search(r">http://localhost(/feeds/[^<]+)</code>", alice.get(path))
    assert address is not None
    # A feed reader takes the address as it stands there.
    shared = app.extensions["livedata"]
    app.extensions["livedata"] = replace(shared, public_url="https://data.example")
    assert f">https://data.example{address[1]}</code>" in alice.get(path)
    assert alice.client.get(address[1]).status_code == 200
    assert bob.post(feed, bob.token("/"), act="revoke").status_code == 404
    alice.post(feed, alice.token(path), act="revoke")
    assert alice.client.get(address[1]).status_code == 404
