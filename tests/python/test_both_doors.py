"""A table is the same over the store and over a server, and what every other door shows."""

from __future__ import annotations

from itertools import combinations, count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

import livedata
from livedata.formats.table_layout import TableLayout
from livedata.services.moments import diff
from livedata.services.snapshot import snapshot
from tests import made
from tests.python.conftest import DESK, HEAD, LAMP, MUG, Doors
from tests.services.table import Table
from tests.services.test_feed_laws import COLUMNS, STEPS, perform
from tests.services.test_share_laws import CLAUSES, NAMES

_NUMBERS = count(1)


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS, clauses=CLAUSES, names=NAMES)
def test_both_doors_show_what_an_export_and_a_diff_have(
    doors: Doors, steps: list[Any], clauses: list[str], names: list[str]
) -> None:
    declared: Any = made.declared(name=f"any {next(_NUMBERS)}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(doors.store, declared)
    for step in steps:
        perform(table, step)
    stored, served = doors.tables(declared["name"])
    assert stored.columns == served.columns == table.dataset["columns"]
    head = len(table.feed())
    for at in (0, head // 2, head, None):
        rows = stored.rows(at=at, where=clauses, gone=True)
        assert rows == served.rows(at=at, where=clauses, gone=True) == exported(table, at, clauses)
        arrow = stored.to_arrow(at=at, where=clauses, gone=True)
        assert arrow.equals(served.to_arrow(at=at, where=clauses, gone=True))
        assert arrow.num_rows == len(rows)
    if names:
        assert stored.rows(columns=names) == served.rows(columns=names)
    changes = list(stored.changes(where=clauses))
    assert changes == list(served.changes(where=clauses))
    for since, until in combinations({0, head // 2, head}, 2):
        first, last = sorted((since, until))
        differences = stored.diff(first, last)
        assert differences == served.diff(first, last)
        told = diff(doors.store, "local", table.id, str(first), str(last), "UTC")
        assert differences == told.rows


def exported(table: Table, at: int | None, clauses: list[str]) -> list[dict[str, Any]]:
    """The rows of an export."""
    moment = None if at is None else str(at)
    with snapshot(table.store, "local", table.id, moment) as whole:
        layout = TableLayout(whole.columns)
        rows = whole.rows_where(clauses)
        return [dict(zip(layout.names, layout.values(row), strict=True)) for row in rows]


def test_rows_are_those_that_are_there(table: livedata.Table) -> None:
    assert table.rows() == [
        {
            "rowKey": "A1",
            "status": "unchanged",
            "presence": "present",
            "sku": "A1",
            "title": "Lamp",
            "price": 8,
            "due": "2026-12-01",
        },
        {
            "rowKey": "C3",
            "status": "changed",
            "presence": "present",
            "sku": "C3",
            "title": "Mine",
            "price": 3,
            "due": None,
        },
    ]
    assert [row["rowKey"] for row in table.rows(gone=True)] == ["A1", "B2", "C3"]


def test_rows_of_another_moment_and_by_clauses(table: livedata.Table) -> None:
    assert table.rows(at=2, columns="title", where="price > 20") == [{"title": "=Desk <b>"}]
    assert table.rows(at=2, columns=["price", "title"], where=["price > 5", "title = Lamp"]) == [
        {"price": 10, "title": "Lamp"}
    ]
    assert table.rows(at=0) == []


def test_changes_know_how_far_they_go(table: livedata.Table, shop: Table) -> None:
    first = table.changes(when="price falls")
    assert [(each["rowKey"], each["before"], each["after"]) for each in first] == [("A1", 10, 8)]
    assert first.through == HEAD
    shop.take({**LAMP, "price": 7}, {**MUG, "price": 3})
    later = table.changes(after=first.through)
    assert [each["after"] for each in later] == [7]
    assert later.through == HEAD + 1
    assert [*table.changes(after=later.through)] == []


def test_changes_that_are_written_meanwhile_are_not_among_them(
    table: livedata.Table, shop: Table
) -> None:
    changes = table.changes()
    first = next(changes)
    shop.take({**LAMP, "price": 7}, {**MUG, "price": 3})
    sequences = [first["sequence"], *(each["sequence"] for each in changes)]
    assert max(sequences) == changes.through == HEAD


def test_a_diff_is_net(table: livedata.Table) -> None:
    assert table.diff(2) == [
        {
            "kind": "changed",
            "row": "A1",
            "changed": {
                "price": {"before": 10, "after": 8},
                "due": {"before": None, "after": "2026-12-01"},
            },
        },
        {"kind": "gone", "row": "B2", "changed": {}},
        {
            "kind": "new",
            "row": "C3",
            "changed": {
                "sku": {"before": None, "after": "C3"},
                "title": {"before": None, "after": "Mine"},
                "price": {"before": None, "after": 3},
            },
        },
    ]
    assert table.diff(2, 2) == []


def test_a_row_that_has_come_back_is_back(table: livedata.Table, shop: Table) -> None:
    shop.take({**LAMP, "price": 8}, DESK, {**MUG, "price": 3})
    assert table.diff(HEAD) == [{"kind": "back", "row": "B2", "changed": {}}]
    assert [(each["kind"], each["row"]) for each in table.diff(2)] == [
        ("changed", "A1"),
        ("new", "C3"),
    ]


def test_frames_have_the_types_of_the_columns(table: livedata.Table) -> None:
    arrow = table.to_arrow(columns=["title", "price", "due"])
    assert [str(field.type) for field in arrow.schema] == [
        *("string", "double", "timestamp[us, tz=UTC]")
    ]
    frame = table.to_pandas(where="price < 5")
    assert frame["title"].tolist() == ["Mine"]
    assert str(frame["due"].dtype) == "datetime64[us, UTC]"
    assert table.to_polars(gone=True)["rowKey"].to_list() == ["A1", "B2", "C3"]
