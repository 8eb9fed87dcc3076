"""Rules 16: which rows and revisions of a dataset meet a condition, on both databases."""

from __future__ import annotations

import operator
import random
from collections import defaultdict
from decimal import Decimal
from itertools import groupby
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.model.errors import Invalid, NotFound
from livedata.rules.conditions.parsing import parse_where
from livedata.services import feed, queries
from livedata.services.conditions import RevisionMatcher
from livedata.services.snapshot import snapshot
from livedata.store.database.store import Store
from tests.rules.condition_witness import witness
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import STEPS, table_after

STATES = st.sampled_from(
    [
        *("price < 2.5", "price >= 2.5", "price != 1", "price is empty", "price is not empty"),
        *("title = Lamp", "title contains L", "title is empty", "note != x", "rowKey = a"),
        *("rowKey starts with c", "price = 9007199254740992", "price > 0", "note is not empty"),
    ]
)
CHANGES = st.sampled_from(
    [
        *(
            "price changes",
            "price falls",
            "price rises by 1.5",
            "price falls by 50%",
            "title changes",
        ),
        *("price reaches a new low", "price reaches a new high", "note changes", "row is new"),
        *("row is gone", "row is back"),
    ]
)
TYPES = {"sku": "string", "note": "string", "title": "string", "price": "number"}


def matched(table: Table, *clauses: str, after: int = 0) -> list[int]:
    """The sequences of the revisions that meet a condition, read page by page."""
    matcher = RevisionMatcher.parse(table.store, "local", table.id, clauses)
    sequences = []
    while True:
        page = feed.changes(table.store, "local", table.id, after=after, limit=3)
        with table.store.reading() as reader:
            sequences += [change["sequence"] for change in matcher.of_page(reader, page["data"])]
        if page["nextAfter"] is None:
            return sequences
        after = page["nextAfter"]


def listed(table: Table, *clauses: str, limit: int = 100) -> list[str]:
    """The keys of the rows that meet a condition, the latest updated first."""
    columns = queries.dataset(table.store, "local", table.id)["columns"]
    where = parse_where(clauses, columns)
    rows, _ = queries.recent_rows(table.store, "local", table.id, limit, where=where)
    return [row["rowKey"] for row in rows]


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(
    steps=STEPS,
    states=st.lists(STATES, max_size=2),
    changes=st.lists(CHANGES, max_size=2),
)
def test_rows_and_revisions_are_those_that_a_witness_sees(
    store: Store, steps: list[Any], states: list[str], changes: list[str]
) -> None:
    table = table_after(store, steps)
    clauses = [*states, *changes]
    if clauses:
        assert matched(table, *clauses) == _witnessed(table, clauses)
    rows, _ = queries.recent_rows(store, "local", table.id, 100)
    expected = [row["rowKey"] for row in rows if _holds(table, row, states)]
    assert listed(table, *states) == expected
    with snapshot(store, "local", table.id) as now:
        assert {row["rowKey"] for row in now.rows_where(states)} == set(expected)


def _witnessed(table: Table, clauses: list[str]) -> list[int]:
    keys = {row["id"]: row["rowKey"] for row in table.rows().values()}
    shown: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    sequences = []
    for change in table.feed():
        before = change["before"]
        sample: dict[str, Any] = {
            "kind": change["kind"],
            "presence": change["presence"],
            "key": keys[change["rowId"]],
            "before": None if before is None else _by_name(table, before),
            "after": _by_name(table, change["data"]),
            "shown": shown[change["rowId"]],
        }
        if witness(clauses, TYPES, sample):
            sequences.append(change["sequence"])
        if change["presence"] == "present":
            for name, value in sample["after"].items():
                shown[change["rowId"]][name].append(value)
    return sequences


def _holds(table: Table, row: Any, states: list[str]) -> bool:
    """As a row that is new would be told."""
    sample = {
        "kind": "created",
        "presence": "present",
        "key": row["rowKey"],
        "before": None,
        "after": _by_name(table, row["data"]),
        "shown": {},
    }
    return not states or witness(states, TYPES, sample)


def _by_name(table: Table, data: dict[str, Any]) -> dict[str, Any]:
    return {name: data.get(field) for name, field in table.fields.items() if name in TYPES}


def test_the_latest_updated_stand_first_and_the_limit_counts(table: Table) -> None:
    table.take(A, B, C)
    table.take(A, {**B, "price": 7}, C)
    assert listed(table, "sku is not empty") == ["B2", "A1", "C3"]
    assert listed(table, "sku is not empty", limit=2) == ["B2", "A1"]
    assert listed(table, "price = 7", "rowKey = B2") == ["B2"]
    assert listed(table, "price > 1000") == []


def test_a_row_that_is_older_than_a_column_has_nothing_in_it(table: Table) -> None:
    table.take(A, B)
    table.add_column("extra")
    table.edit("A1", {"extra": "x"})
    assert listed(table, "extra is empty") == ["B2"]
    assert listed(table, "extra = x") == ["A1"]
    assert matched(table, "extra changes") == [3]


def test_a_low_is_one_of_all_values_that_the_row_has_shown(table: Table) -> None:
    for price in (10, 8, 9, 8, 7.5, 7.5):
        table.take({**A, "price": price})
    assert matched(table, "price reaches a new low") == [2, 5]
    assert matched(table, "price falls") == [2, 4, 5]


@pytest.mark.parametrize("clause", ["price reaches a new low", "price reaches a new high"])
def test_a_record_is_one_of_the_whole_history_wherever_reading_begins(
    table: Table, clause: str
) -> None:
    chance = random.Random(5)
    # Twenty lie close together, then ten far apart, further each time: among those are records,
    # and those that seem to be if only the twenty before are looked at.
    spread = [n / 9 if n % 30 < 20 else n / 3 for n in range(90)]
    numbers = [chance.uniform(50 - most, 50 + most) for most in spread]
    drawn = [chance.choice([None, number, round(number)]) for number in numbers]
    prices = [price for price, _ in groupby(drawn)]
    for price in prices:
        table.take({**A, "price": price}, B)
    row = table.rows()["A1"]["id"]
    sequences = [change["sequence"] for change in table.feed() if change["rowId"] == row]
    better = operator.lt if clause.endswith("low") else operator.gt
    records = [
        sequence
        for index, (sequence, price) in enumerate(zip(sequences, prices, strict=True))
        if price is not None
        and (past := [number for number in prices[:index] if number is not None])
        and all(better(Decimal(repr(price)), Decimal(repr(number))) for number in past)
    ]
    assert len(records) > 5
    for after in range(0, sequences[-1], 5):
        expected = [sequence for sequence in records if sequence > after]
        assert matched(table, clause, after=after) == expected


def test_what_lies_below_a_hand_edit_changes_nothing_that_is_shown(table: Table) -> None:
    table.take(A)
    table.edit("A1", {"price": 5})
    table.take({**A, "price": 3})
    assert [change["kind"] for change in table.feed()] == ["created", "updated", "updated"]
    assert matched(table, "price changes") == [2]
    assert matched(table, "price < 6") == [2]


def test_an_edit_of_a_row_that_is_gone_tells_nothing(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    table.edit("A1", {"price": 1})
    table.take(A, B)
    kinds = {change["sequence"]: change["kind"] for change in table.feed()}
    assert [kinds[sequence] for sequence in matched(table, "price < 2")] == ["returned"]
    assert [kinds[sequence] for sequence in matched(table, "row is gone")] == ["missing"]
    assert [kinds[sequence] for sequence in matched(table, "row is back")] == ["returned"]


def test_what_came_with_an_archive_is_no_news(table: Table, store: Store) -> None:
    table.take(A, B)
    with store.writing() as writer:
        writer.execute("UPDATE revisions SET kind = 'baseline', origin = 'migration'")
    assert matched(table, "row is new") == []
    assert matched(table, "price > 0") == []


def test_a_wrong_clause_and_an_unknown_dataset_are_refused(table: Table) -> None:
    with pytest.raises(Invalid, match="is price meant"):
        RevisionMatcher.parse(table.store, "local", table.id, ["prize < 2"])
    with pytest.raises(NotFound):
        RevisionMatcher.parse(table.store, "bob", table.id, ["price < 2"])
