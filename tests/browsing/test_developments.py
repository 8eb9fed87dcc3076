"""What pages draw over time: the rows of a table, the numbers of a cell, the tokens of a day."""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.model.research.answers import CallUsage
from livedata.pages.markup.plot import plot
from livedata.services import queries
from livedata.services.commit import AcceptancePolicy
from livedata.services.pages.history import (
    Narrowing,
    Point,
    earlier_runs,
    history,
    last_ends,
    of_cell,
    of_table,
)
from livedata.services.pages.report import report
from livedata.services.research.days import last_days
from livedata.store.research import usage
from tests import made
from tests.browsing.world import World

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.browsing.visitor import Visitor

UNGUARDED = AcceptancePolicy(mass_loss=None, guards=frozenset())
DAY = 86_400_000_000
_NAMES = count()
FOUND = st.sets(st.integers(0, 6), min_size=1)
"""The rows that a Run finds, by their numbers."""


def take(store: Store, dataset: ids.DatasetId, keys: Collection[int]) -> int:
    """A Run that finds these rows, and is accepted; how many rows there are now."""
    items: list[dict[str, Scalar]] = [
        {"sku": f"K{number}", "title": "t", "price": number + 0.5} for number in sorted(keys)
    ]
    made.take(store, dataset, items, owner="alice", policy=UNGUARDED)
    return queries.dataset(store, "alice", dataset)["rowCount"]


@pytest.mark.timeout(120)
def test_the_rows_after_each_run_are_those_that_there_were(store: Store) -> None:
    made.meet_owner(store, "alice", 1_000_000)

    # Without the phase that explains: it would only trace each example.
    @settings(max_examples=25, phases=[each for each in Phase if each is not Phase.explain])
    @given(runs=st.lists(FOUND, min_size=2, max_size=7), seen=st.integers(0, 5))
    def law(runs: list[set[int]], seen: int) -> None:
        dataset = made.make_dataset(store, "alice", f"t{next(_NAMES)}")
        rows = [take(store, dataset, numbers) for numbers in runs]
        World(store, "alice").blocked(dataset)
        (ends,) = last_ends(store, "alice", [dataset], 30)
        assert [end.rows for end in ends] == [None, *rows[::-1]]
        assert [point.value for point in of_table(ends)] == rows
        # However many of them another page has shown already.
        listed = earlier_runs(store, "alice", dataset, 30)
        last, _ = listed[min(seen, len(listed) - 1)]
        place = ids.parse_timestamp(last["queuedAt"]), last["id"]
        earlier = earlier_runs(store, "alice", dataset, 30, place)
        assert earlier == listed[min(seen, len(listed) - 1) + 1 :]

    law()


def test_a_number_has_a_gap_while_its_row_was_gone(store: Store) -> None:
    made.meet_owner(store, "alice", 1_000)
    dataset = made.make_dataset(store, "alice")
    for key, number in (("K1", 1.5), ("K2", None), ("K1", 2.5), ("K1", 3.5)):
        item: dict[str, Scalar] = {"sku": key, "title": "t", "price": number}
        made.take(store, dataset, [item], owner="alice", policy=UNGUARDED)
    columns = queries.dataset(store, "alice", dataset)["columns"]
    (price,) = [column["id"] for column in columns if column["name"] == "price"]
    told = history(store, "alice", dataset, Narrowing())
    (row,) = [row for row, called in told.rows.items() if called.key == "K1"]
    own = [change for change in told.changes if change["rowId"] == row]
    assert [point.value for point in of_cell(own, price)] == [1.5, None, 2.5, 3.5]
    assert of_cell(own[:1], price, "2026-01-01T00:00:00Z") == [
        Point("2026-01-01T00:00:00Z", 2.5),
        Point(own[0]["createdAt"], 3.5),
    ]


def test_a_number_goes_on_until_its_row_was_seen_last(store: Store) -> None:
    made.meet_owner(store, "alice", 1_000)
    dataset = made.make_dataset(store, "alice")
    for number in (1.5, 2.5, 2.5):
        made.take(store, dataset, [{"sku": "K1", "title": "t", "price": number}], owner="alice")
    (row,) = queries.rows(store, "alice", dataset, 9)[0]
    (price,) = [field for field, value in row["data"].items() if value == 2.5]
    told = history(store, "alice", dataset, Narrowing()).changes
    assert told[0]["createdAt"] < row["observedAt"]
    developed = of_cell(told, price, until=row["observedAt"])
    assert developed[1:] == [Point(told[0]["createdAt"], 2.5), Point(row["observedAt"], 2.5)]
    assert of_cell(told, price, until=told[0]["createdAt"]) == developed[:2]
    assert of_cell([], price, until=row["observedAt"]) == []
    (drawn,) = report(store, "alice", dataset, ids.Micros(0)).developments
    assert drawn.points[-1] == developed[-1]


def test_tokens_are_added_up_by_day_and_a_day_without_a_call_has_none(store: Store) -> None:
    alice, bob = (World(store, owner).makers() for owner in ("alice", "bob"))
    now = ids.now()
    made_at = [(alice, 40, 7), (alice, 3, 5), (alice, 3, None), (alice, 1, 9), (bob, 2, 100)]
    for table, days_ago, told in made_at:
        run = ids.RunId(ids.raw_id(queries.runs(store, table.owner, table.id, 1)[0]["id"]))
        took = CallUsage("a model", input_tokens=told, output_tokens=1, usd=0.25)
        add_call(store, run, took, Micros(now - days_ago * DAY))
    days = last_days(store, "alice").days
    before = [day for day in days if day.day < ids.format_timestamp(now)[:10]]
    assert [(day.calls, day.input_tokens, day.output_tokens, day.usd) for day in before] == [
        (1, 9, 1, 0.25),
        (2, 5, 2, 0.5),
    ]


def test_the_money_of_research_stands_beside_the_credits_of_its_dataset(
    store: Store, alice: Visitor
) -> None:
    made.take(store, made.make_dataset(store, alice.owner), owner=alice.owner)
    assert "dollars" not in alice.get("/usage")
    table = World(store, alice.owner).makers()
    run = ids.RunId(ids.raw_id(queries.runs(store, table.owner, table.id, 1)[0]["id"]))
    add_call(store, run, CallUsage("a model", input_tokens=1, usd=1.5), ids.now())
    page = re.sub("<[^>]+>", "", alice.get("/usage"))
    ((took, of_all),) = re.findall(
        r"(\d+) taken by Runs in the last 30 days\s*([\d.]+) US dollars for research", page
    )
    datasets = {each["name"]: each for each in alice.as_json("/usage")["datasets"]}
    assert f"{sum(each['usd'] for each in datasets.values()):.2f}" == of_all
    assert took == str(sum(each["credits"] for each in datasets.values()))
    assert datasets["makers"]["usd"] >= 1.5
    assert datasets["shop"]["usd"] == 0
    sums = re.findall(r'data-label="US dollars">([^<]*)</td></tr>', alice.get("/usage"))
    assert sums[:2] == [of_all, "0.00"]


def add_call(store: Store, run: ids.RunId, took: CallUsage, place: Micros) -> None:
    """Note a call of a Run as an attempt of it would have."""
    with store.writing() as writer:
        attempt: Any = writer.value("SELECT id FROM research_attempts WHERE run_id = :run", run=run)
        usage.add_call(writer, run, attempt, ids.new_id(), "extract", took, place)


def test_pages_draw_what_developed_with_its_scale(store: Store, alice: Visitor) -> None:
    path = f"/datasets/{ids.format_uuid(World(store, alice.owner).shop())}"
    drawn = re.compile(r'aria-label="(From [^"]+)"')
    rows = "From 40 to 39; the lowest is 39, the highest 40."
    for page in ("/", path, f"{path}/runs"):
        assert drawn.findall(alice.get(page)) == [rows]
    scale = re.findall(r'class="(?:high|low)"><data value="(\d+)"', alice.get(path))
    assert scale == ["40", "39"]


def test_a_value_stays_until_the_next_one_and_a_gap_parts_the_line() -> None:
    values = (0, 10, None, 5, 10)
    drawn = plot(
        [Point(f"2026-01-01T00:0{number}:00Z", value) for number, value in enumerate(values)]
    )
    begun = "M8 112 H124 V8 H240"
    assert f'<path d="{begun} M356 60 H472 V8"' in str(drawn)


def test_the_credits_of_each_day_are_drawn_from_zero(
    store: Store, alice: Visitor, clock: Callable[[int], None]
) -> None:
    assert 'class="plot bars"' not in alice.get("/usage")
    dataset = made.make_dataset(store, alice.owner)
    days = []
    for after, number in ((0, 3), (2, 1)):
        clock(after * DAY // 1_000_000)
        days.append(ids.to_datetime(ids.now()))
        for _ in range(number):
            made.take(store, dataset, owner=alice.owner)
    alice.sign_in()
    page = alice.get("/usage")
    assert "; the most is 3." in page
    assert "<h3>Credits by day</h3>" in page
    assert re.findall(r'class="(?:high|low)"><data value="(\d+)"', page) == ["3", "0"]
    heights = re.findall(r'height="([0-9.]+)"><title>([^<]*)</title>', page)
    assert [told for _, told in heights] == [
        f"{day.day} {day:%b}: {took}" for day, took in zip(days, (3, 1), strict=True)
    ]
    assert float(heights[0][0]) == pytest.approx(3 * float(heights[1][0]), rel=0.01)


def test_what_never_changed_is_not_drawn(store: Store, alice: Visitor) -> None:
    dataset = made.make_dataset(store, alice.owner)
    path = f"/datasets/{ids.format_uuid(dataset)}"
    for _ in range(2):
        made.take(store, dataset, owner=alice.owner)
        for page in ("/", path, f"{path}/runs"):
            assert not re.search('<svg class="(plot|spark)', alice.get(page))
