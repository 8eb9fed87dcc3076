"""What is new of all datasets between two moments: the net of each, bounded, trouble first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.model import ids
from livedata.model.harvest import Harvest, PageFailure, StopReason
from livedata.model.ids import Micros
from livedata.services.moments import diff
from livedata.services.whats_new import (
    Bounds,
    DatasetNews,
    Period,
    every_news,
    news,
    troubled,
)
from tests import made
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import STEPS, table_after

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.services.conftest import Clock

DAY = 86_400
WIDE = Bounds(datasets=100, revisions=10_000, rows=10_000, rows_of_each=1_000)
ALWAYS = Period(Micros(0))


def told(store: Store, period: Period = ALWAYS, bounds: Bounds = WIDE) -> list[DatasetNews]:
    """What is new of `local`."""
    return [*news(store, "local", period, bounds).datasets]


def rows_of(each: DatasetNews) -> list[tuple[str, str]]:
    """The kind and the name of each row that is told."""
    return [(row.difference["kind"], row.difference["row"]) for row in each.rows]


def another(store: Store, name: str) -> Table:
    """One more dataset."""
    return Table(store, made.declared(name=name))


def refuse(table: Table) -> None:
    """A Run that the site refuses."""
    failure = PageFailure(1, made.URL, "forbidden", 403, "https://shop.example", made.REFUSED)
    ending = StopReason("page_failed", made.REFUSED)
    attempt = table.begin()
    table.finish(attempt, Harvest([], ending, failure, attempts=1, refusals=1))


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS, part=st.floats(0, 1), looked_at=st.integers(1, 20))
def test_the_news_of_a_window_are_the_difference_of_both_moments(
    store: Store, steps: list[Any], part: float, looked_at: int
) -> None:
    table = table_after(store, steps)
    feed = table.feed()
    if not feed:
        return
    begin = feed[int(part * (len(feed) - 1))]["createdAt"]
    since = Micros(ids.parse_timestamp(begin))
    before = sum(change["createdAt"] < begin for change in feed)
    expected = diff(store, "local", table.id, str(before), None, "UTC").rows
    for bounds in (WIDE, Bounds(1_000, looked_at, 1_000, 1_000)):
        own = [
            each
            for each in told(store, Period(since), bounds)
            if each.dataset["id"] == ids.format_uuid(table.id)
        ]
        shown = [row.difference for each in own for row in each.rows]
        assert [row for row in expected if row in shown] == sorted(shown, key=expected.index)
        if all(each.is_exact for each in own):
            assert len(shown) == len(expected)
            assert sum(sum(each.counts.values()) for each in own) == len(expected)
    every = {each.dataset["id"]: each for each in every_news(store, "local", Period(since))}
    whole = every.get(ids.format_uuid(table.id))
    changes = [] if whole is None else whole.as_json["changes"]
    assert sorted(changes, key=expected.index) == list(expected)


def test_rows_are_told_by_kind_net_and_with_both_values(table: Table, step: Clock) -> None:
    table.take(A, B)
    step(DAY)
    begin = Micros(ids.now())
    table.take({**A, "price": 12}, C)
    table.take({**A, "price": 15}, C, {"sku": "E5", "title": "Rug"})
    table.take({**A, "price": 15}, C)
    (only,) = told(table.store, Period(begin))
    assert rows_of(only) == [("new", "C3"), ("changed", "A1"), ("gone", "B2")]
    assert only.counts == {"new": 1, "changed": 1, "gone": 1, "back": 0}
    assert only.rows[1].difference["changed"] == {"price": {"before": 10, "after": 15}}
    assert only.sentence == "shop: 1 new, 1 changed, 1 gone."
    assert (only.is_exact, only.more, only.trouble) == (True, 0, None)
    assert only.rows[1].row == table.rows()["A1"]["id"]


def test_datasets_without_changes_are_left_out_also_if_all_was_taken_back(
    table: Table, store: Store, step: Clock
) -> None:
    another(store, "quiet").take(A)
    table.take(A)
    step(DAY)
    begin = Micros(ids.now())
    table.take({**A, "price": 99})
    table.take(A)
    assert told(store, Period(begin)) == []
    assert {each.dataset["name"] for each in told(store)} == {"quiet", "shop"}


def test_a_past_day_tells_what_was_new_on_it(table: Table, step: Clock) -> None:
    table.take(A)
    step(DAY)
    begin = Micros(ids.now())
    table.take(A, B)
    step(2 * DAY)
    end = Micros(ids.now())
    table.take(A, B, C)
    (only,) = told(table.store, Period(begin, end))
    assert rows_of(only) == [("new", "B2")]


def test_those_in_trouble_come_first_with_the_sentence_of_their_last_run(
    table: Table, store: Store, step: Clock
) -> None:
    broken = another(store, "broken")
    broken.take(A)
    table.take(A)
    still = another(store, "still broken")
    refuse(still)
    step(DAY)
    begin = Micros(ids.now())
    broken.edit("A1", {"note": "mine"})
    refuse(broken)
    table.take(A, B)
    first, second = told(store, Period(begin))
    assert [each.dataset["name"] for each in (first, second)] == ["broken", "shop"]
    assert first.trouble is not None
    assert (first.trouble.status, second.trouble) == ("blocked", None)
    assert first.trouble.sentence
    assert rows_of(first) == [("changed", "A1")]
    # A Run that was refused in that time is news, though no row changed; one of before is none.
    refuse(still)
    broken.take(A)
    assert [each.dataset["name"] for each in told(store, Period(begin))] == [
        *("still broken", "shop", "broken")
    ]
    assert told(store, Period(begin))[0].sentence is None


def test_of_a_long_window_the_last_changes_are_looked_at_and_it_says_so(
    table: Table, step: Clock
) -> None:
    items = [{**A, "sku": f"K{number:02}", "price": number} for number in range(20)]
    table.take(*items)
    step(DAY)
    begin = Micros(ids.now())
    for price in (100, 200):
        table.take(*({**item, "price": price} for item in items))
    bounds = Bounds(datasets=10, revisions=5, rows=3, rows_of_each=10)
    (only,) = told(table.store, Period(begin), bounds)
    assert (only.counts["changed"], only.is_exact, len(only.rows), only.more) == (5, False, 3, 2)
    # Both values are those of the whole time, whatever part of it is looked at.
    changed = [row.difference["changed"]["price"] for row in only.rows]
    assert all(cell["after"] == 200 for cell in changed)
    assert all(cell["before"] == number for number, cell in enumerate(changed, 15))


def test_those_with_few_changes_are_told_whole_beside_one_with_many(
    table: Table, store: Store, step: Clock
) -> None:
    table.take(A)
    step(DAY)
    since = Period(Micros(ids.now()))
    table.take(A, *({**A, "sku": f"K{number:02}"} for number in range(50)))
    another(store, "small").take(A, B)
    bounds = Bounds(datasets=10, revisions=20, rows=10, rows_of_each=8)
    by_name = {each.dataset["name"]: each for each in told(store, since, bounds)}
    assert (by_name["small"].is_exact, len(by_name["small"].rows)) == (True, 2)
    assert (by_name["shop"].is_exact, len(by_name["shop"].rows)) == (False, 8)


def test_each_kind_is_among_the_few_rows_that_are_told(table: Table, step: Clock) -> None:
    items = [{**A, "sku": f"K{number:02}"} for number in range(30)]
    table.take(*items[:20])
    step(DAY)
    begin = Micros(ids.now())
    table.take(*({**item, "price": 5} for item in items[:18]), *items[20:])
    bounds = Bounds(datasets=10, revisions=1_000, rows=3, rows_of_each=20)
    (only,) = told(table.store, Period(begin), bounds)
    assert [kind for kind, _ in rows_of(only)] == ["new", "changed", "gone"]
    assert only.more == 27


def test_datasets_go_on_where_the_page_before_ended(store: Store) -> None:
    for number in range(5):
        another(store, f"number {number}").take(A)
    bounds = Bounds(datasets=2, revisions=100, rows=100, rows_of_each=10)
    names: list[str] = []
    passed, following = 0, [5]
    while following[-1]:
        page = news(store, "local", ALWAYS, bounds, passed)
        names += [each.dataset["name"] for each in page.datasets]
        passed, following = page.passed, [*following, page.following]
    assert (passed, following) == (5, [5, 3, 1, 0])
    assert names == [f"number {number}" for number in reversed(range(5))]


def test_rows_alone_leave_out_whatever_only_failed_and_begin_with_what_changed_last(
    store: Store, step: Clock
) -> None:
    broken, *others = (another(store, name) for name in ("broken", "first", "second"))
    broken.take(A)
    step(DAY)
    begin = Micros(ids.now())
    for number, table in enumerate(others):
        step(DAY + 60 * number)
        table.take(A)
    for number, table in enumerate((broken, others[0])):
        step(2 * DAY + 60 * number)
        refuse(table)
    bounds = Bounds(datasets=2, revisions=100, rows=100, rows_of_each=10)
    page = news(store, "local", Period(begin), bounds, rows_alone=True)
    assert [each.dataset["name"] for each in page.datasets] == ["second", "first"]
    assert page.following == 0
    assert [each.name for each in troubled(store, "local")] == ["first", "broken"]
    assert {each.trouble.status for each in troubled(store, "local")} == {"blocked"}


def test_rows_that_changed_after_all_was_seen_are_unseen(table: Table, step: Clock) -> None:
    table.take(A, B)
    step(DAY)
    seen = Micros(ids.now())
    table.take(A, {**B, "price": 1}, C)
    (only,) = told(table.store, Period(Micros(0), seen=seen))
    assert {row.difference["row"]: row.is_unseen for row in only.rows} == {
        "A1": False,
        "B2": True,
        "C3": True,
    }
    assert not any(row.is_unseen for row in told(table.store)[0].rows)


def test_nobody_is_told_what_is_new_of_another_owner(table: Table, store: Store) -> None:
    table.take(A)
    refuse(table)
    made.meet_owner(store, "bob", 10)
    assert news(store, "bob", ALWAYS, WIDE).datasets == []
    assert list(every_news(store, "bob", ALWAYS)) == []
    assert troubled(store, "bob") == []
