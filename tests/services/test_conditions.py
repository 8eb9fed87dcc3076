"""Rules 16: which rows and revisions of a dataset meet a condition, on both databases."""

from __future__ import annotations

import pytest

from livedata.model.errors import Invalid, NotFound
from livedata.rules.conditions.parsing import parse_where
from livedata.services import feed, queries
from livedata.services.conditions import RevisionMatcher
from livedata.store.database.store import Store
from tests.services.table import A, B, C, Table


def matched(table: Table, *clauses: str) -> list[int]:
    """The sequences of the revisions that meet a condition, read page by page."""
    matcher = RevisionMatcher.parse(table.store, "local", table.id, clauses)
    sequences, after = [], 0
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
