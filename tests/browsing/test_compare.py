"""Two moments of a table side by side: days, Runs or numbers of changes, net."""

from __future__ import annotations

import re
from datetime import date, timedelta
from html import unescape
from typing import TYPE_CHECKING

import pytest

from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.pages.compare import LOOKED_AT, ON_A_PAGE
from livedata.services import queries
from tests import made
from tests.browsing.test_news import rows_of, today
from tests.browsing.test_table import path_of
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from livedata.model.ids import DatasetId
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

DAY = 86_400
LAMP, CHAIR, MUG = made.ITEMS


def compare_of(dataset: DatasetId) -> str:
    return f"{path_of(dataset)}/compare"


@pytest.fixture
def shop(alice: Visitor, store: Store) -> DatasetId:
    """A table with two Runs: a lamp and a chair, then the lamp for another price, and a mug."""
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP, CHAIR], owner=alice.owner)
    made.take(store, dataset, [{**LAMP, "price": 12}, MUG], owner=alice.owner)
    return dataset


SECOND = [("C3", "new"), ("A1", "changed"), ("B2", "gone")]


def test_two_runs_are_compared_net_with_both_values(
    alice: Visitor, store: Store, shop: DatasetId
) -> None:
    made.take(store, shop, [{**LAMP, "price": 15}, MUG], owner=alice.owner)
    last, middle, first = (run["id"] for run in queries.runs(store, alice.owner, shop, 9))
    page = alice.get(f"{compare_of(shop)}?from={first}&to={last}")
    assert rows_of(page) == SECOND
    assert re.search(r"<del>.*>10<.*</del> → <ins>.*>15<.*</ins>", page)
    assert rows_of(alice.get(f"{compare_of(shop)}?from={middle}&to={last}")) == [("A1", "changed")]
    assert "No row differs." in alice.get(f"{compare_of(shop)}?from={last}")


def test_a_row_that_is_gone_shows_its_last_values(
    alice: Visitor, store: Store, shop: DatasetId
) -> None:
    made.take(store, shop, [{**LAMP, "price": 31}, {**MUG, "price": 33}], owner=alice.owner)
    made.take(store, shop, [{**LAMP, "price": 31}], owner=alice.owner)
    second = queries.runs(store, alice.owner, shop, 9)[2]["id"]
    page = re.sub("</?data[^>]*>", "", alice.get(f"{compare_of(shop)}?from={second}"))
    gone = page.partition('<span class="fresh gone">')[2].partition("</tr>")[0]
    assert '<span class="mark">last:</span> <div>' in gone
    assert "<bdi>price</bdi>: 33</div>" in gone
    assert "Mug" not in gone  # it names the row
    assert "→" not in gone


def test_a_run_is_offered_with_what_came_back_apart_from_what_changed(
    alice: Visitor, store: Store, shop: DatasetId
) -> None:
    made.take(store, shop, [{**LAMP, "price": 15}, CHAIR, MUG], owner=alice.owner)
    assert "accepted · 1 changed, 1 back</option>" in alice.get(compare_of(shop))


def test_two_days_are_compared_at_their_ends(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    days = []
    for number, items in enumerate(([LAMP], [LAMP, CHAIR], [LAMP, CHAIR, MUG])):
        clock(number * 2 * DAY)
        days.append(today())
        made.take(store, dataset, items, owner=alice.owner)
    alice.sign_in()
    path = compare_of(dataset)
    assert rows_of(alice.get(f"{path}?from={days[0]}&to={days[1]}")) == [("B2", "new")]
    # Where nothing differs, the day before is a click away, up to the same moment.
    same = alice.get(f"{path}?from={days[1]}&to={days[1]}")
    before = (date.fromisoformat(days[1]) - timedelta(days=1)).isoformat()
    link = f"{path}?from={before}&amp;to={days[1]}"
    assert f'No row differs. <a href="{link}">Compare from the day before</a>' in same
    assert rows_of(alice.get(link.replace("&amp;", "&"))) == [("B2", "new")]
    assert rows_of(alice.get(f"{path}?from={days[0]}")) == [("B2", "new"), ("C3", "new")]
    assert len(rows_of(alice.get(path))) == 3
    told = alice.get(f"{path}?from={days[0]}")
    named = f"{date.fromisoformat(days[0]):%a %-d %b}"
    assert f"the end of <bdi>{named}</bdi>" in told
    assert f'<option value="{days[0]}" selected>{named}</option>' in told


def test_the_address_to_keep_means_the_same_after_more_changes(
    alice: Visitor, store: Store, shop: DatasetId
) -> None:
    page = alice.get(f"{compare_of(shop)}?from=2")
    match = re.search(r'<a href="([^"]+)">Permanent link', page)
    assert match is not None
    made.take(store, shop, [MUG], owner=alice.owner)
    assert rows_of(alice.get(unescape(match[1]))) == rows_of(page) == SECOND


@pytest.mark.parametrize("query", ["?from=soon", "?from=9999", "?from=2&to=1", f"?to={'9' * 400}"])
def test_what_is_no_moment_is_told_beside_the_form_which_keeps_it(
    alice: Visitor, shop: DatasetId, query: str
) -> None:
    page = alice.get(f"{compare_of(shop)}{query}", 422)
    assert '<p class="refusal" role="alert">' in page
    assert f'value="{query.rpartition("=")[2]}"' in page


def test_the_pages_of_a_dataset_and_of_a_run_lead_there(
    alice: Visitor, store: Store, shop: DatasetId
) -> None:
    path, first = compare_of(shop), queries.runs(store, alice.owner, shop, 9)[-1]["id"]
    for page in (f"{path_of(shop)}/changes", f"{path_of(shop)}/runs", f"/runs/{first}"):
        assert f'<a href="{path}">Compare</a>' in alice.get(page)
    assert f'<a href="{path}?from={first}">compare with now</a>' in alice.get(f"/runs/{first}")


def offered(page: str, name: str) -> dict[str, str]:
    """What each moment of a select is called, and what the address says of it."""
    select = page.partition(f'<select name="{name}">')[2].partition("</select>")[0]
    return {called: value for value, called in re.findall(r'value="([^"]*)"[^>]*>([^<]*)', select)}


def test_runs_are_chosen_by_when_and_how_they_ended_and_days_by_name(
    alice: Visitor, store: Store, clock: Callable[[int], None]
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    made.take(store, dataset, [LAMP, CHAIR], owner=alice.owner)
    clock(3 * DAY)
    made.take(store, dataset, [{**LAMP, "price": 12}, MUG], owner=alice.owner)
    made.take(store, dataset, [], owner=alice.owner, ending=StopReason("page_failed", made.BROKEN))
    alice.sign_in()
    path = compare_of(dataset)
    moments = offered(alice.get(path), "from")
    runs = [called for called in moments if "accepted" in called]
    assert re.fullmatch(r"today \d\d:\d\d · accepted · 1 new, 1 changed, 1 gone", runs[0])
    assert re.fullmatch(r"\w{3} \d+ \w{3} \d\d:\d\d · accepted · 2 new", runs[1])
    assert len(runs) == 2
    assert [called for called in moments if called.startswith("yesterday, ")]
    page = alice.get(f"{path}?from={moments[runs[1]]}&to={moments[runs[0]]}")
    assert rows_of(page) == SECOND
    assert f"<h2>From the Run of <bdi>{runs[1].partition(' · ')[0]}</bdi>" in page
    assert page.count(f"selected>{runs[1]}</option>") == 1
    assert "the address of this page means the same tomorrow" in page
    assert next(iter(offered(page, "to"))) == "now"


def test_a_moment_that_is_not_offered_stands_in_the_select_too(
    alice: Visitor, shop: DatasetId
) -> None:
    page = alice.get(f"{compare_of(shop)}?from=2&to=2026-01-31T08:00:00Z", 422)
    assert '<option value="2" selected>change 2</option>' in page
    assert '<option value="2026-01-31T08:00:00Z" selected>' in page
    old = alice.get(f"{compare_of(shop)}?from=2026-01-31")
    assert '<option value="2026-01-31" selected>Sat 31 Jan 2026</option>' in old
    assert "the end of <bdi>Sat 31 Jan 2026</bdi>" in old


def test_many_rows_are_paged_and_as_json_each_is_there_once(alice: Visitor, store: Store) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(2 * ON_A_PAGE + 5)
    made.take(store, dataset, items, owner=alice.owner)
    path = f"{compare_of(dataset)}?from=0"
    shown = [row for page in alice.pages(path) for row in rows_of(page)]
    assert shown == [(item["sku"], "new") for item in items]
    answer = alice.as_json(path)
    assert answer["rowDeltas"] == {"new": len(items), "changed": 0, "gone": 0, "back": 0}
    assert [row["row"] for row in answer["data"]] == [item["sku"] for item in items[:ON_A_PAGE]]
    assert (answer["from"]["sequence"], answer["to"]["sequence"]) == (0, len(items))
    assert answer["next"] is not None


def test_many_rows_of_a_kind_are_folded_behind_the_first_and_each_kind_is_a_click_away(
    alice: Visitor, store: Store
) -> None:
    dataset = made.make_dataset(store, alice.owner)
    items = World(store, alice.owner).items(2 * ON_A_PAGE)
    made.take(store, dataset, items[:3], owner=alice.owner)
    changed = {**items[0], "title": "another"}
    made.take(store, dataset, [changed, *items[1:]], owner=alice.owner)
    path = f"{compare_of(dataset)}?from=3"
    page = re.sub("</?data[^>]*>", "", alice.get(path))
    assert "<summary>90 more of 197 new</summary>" in page
    assert len(rows_of(page.partition("<details>")[0])) == 10
    (link,) = re.findall(r'<a href="([^"]+)">1 changed</a>', page)
    assert rows_of(alice.get(unescape(link))) == [(items[0]["sku"], "changed")]
    shown = [row for each in alice.pages(f"{path}&kind=new") for row in rows_of(each)]
    assert shown == [(item["sku"], "new") for item in items[3:]]


def test_of_very_many_changes_the_last_are_looked_at_and_it_says_so(
    alice: Visitor, monkeypatch: pytest.MonkeyPatch, shop: DatasetId
) -> None:
    assert LOOKED_AT > ON_A_PAGE
    monkeypatch.setattr("livedata.pages.compare.LOOKED_AT", 1)
    page = re.sub("</?data[^>]*>", "", alice.get(f"{compare_of(shop)}?from=0"))
    assert "There were 5 changes between" in page
    assert len(rows_of(page)) <= 1


def test_nobody_compares_what_is_of_another_owner(bob: Visitor, shop: DatasetId) -> None:
    bob.get(f"{compare_of(shop)}?from=0", 404)
    bob.get(f"/datasets/{ids.format_uuid(ids.new_id())}/compare", 404)
