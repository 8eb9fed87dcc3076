"""Laws of what an address shows: its rows are those of the table, its changes lead to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from livedata.model.row import Scalar
from livedata.services.served_tables import ServedQuery, serve_changes, serve_table
from livedata.services.snapshot import snapshot
from livedata.store.database.store import Store
from livedata.store.shares import Scope
from tests import made
from tests.services.table import A, B, C, Table
from tests.services.test_feed_laws import COLUMNS, STEPS, perform

_NAMES = count(1)
ALL = ServedQuery()
Shown = dict[str, dict[str, Scalar]]
CLAUSES = st.lists(
    st.sampled_from(
        [
            *("price < 2", "price > 1", "price is empty", "title is not empty", "title != Lamp"),
            *("note is empty", "rowKey contains a", "title starts with ="),
        ]
    ),
    max_size=2,
    unique=True,
)
NAMES = st.lists(st.sampled_from(["sku", "note", "title", "price"]), max_size=3, unique=True)


def rows_of(table: Table, scope: Scope, asked: ServedQuery = ALL, when: str | None = None) -> Shown:
    """The cells that are there at an address, by row and column."""
    with table.store.reading() as reader:
        served = serve_table(reader, scope, asked, when, "UTC")
        return {
            row["rowKey"]: {
                column["name"]: value
                for column in served.view.shown
                if (value := row["data"].get(column["id"])) is not None
            }
            for row in served.rows(gone=False)
        }


def lines_of(
    table: Table, scope: Scope, after: int = 0, asked: ServedQuery = ALL
) -> list[tuple[Scalar, ...]]:
    """The changes that are there at an address."""
    with table.store.reading() as reader:
        return [*serve_changes(reader, scope, asked, after, None, "UTC").lines()]


def folded(lines: Iterable[Sequence[Any]], known: Shown) -> Shown:
    """The rows of a reader who knew some, and has read these changes in order."""
    shown = {key: {**cells} for key, cells in known.items()}
    for _, _, kind, key, column, before, after in lines:
        if kind == "missing":
            del shown[key]
            continue
        cells = shown.setdefault(key, {}) if kind != "updated" else shown[key]
        if column is not None:
            assert cells.get(column) == before
            cells[column] = after
            if after is None:
                del cells[column]
    return shown


@pytest.mark.slow
@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS, columns=NAMES, clauses=CLAUSES, narrower=CLAUSES)
def test_who_reads_the_changes_has_the_rows_at_each_sequence(
    store: Store, steps: list[Any], columns: list[str], clauses: list[str], narrower: list[str]
) -> None:
    declared: Any = made.declared(name=f"shared {next(_NAMES)}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(store, declared)
    for step in steps:
        perform(table, step)
    scope = Scope("local", table.id, columns, clauses)
    asked = ServedQuery(
        (), [each for each in narrower if not columns or each.split()[0] in columns]
    )
    head = len(table.feed())
    known: Shown = {}
    lines = lines_of(table, scope, asked=asked)
    for sequence in range(1, head + 1):
        known = folded((line for line in lines if line[0] == sequence), known)
        assert known == rows_of(table, scope, asked, str(sequence))
        # And who begins with the rows of then.
        later = lines_of(table, scope, sequence, asked)
        assert folded(later, known) == rows_of(table, scope, asked)


@pytest.mark.slow
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(steps=STEPS, columns=NAMES, clauses=CLAUSES)
def test_an_address_shows_what_an_export_has_and_no_more(
    store: Store, steps: list[Any], columns: list[str], clauses: list[str]
) -> None:
    declared: Any = made.declared(name=f"exported {next(_NAMES)}", columns=COLUMNS)
    declared["source"]["minimumItems"] = 0
    table = Table(store, declared)
    for step in steps:
        perform(table, step)
    with snapshot(store, "local", table.id) as whole:
        names = {column["id"]: column["name"] for column in whole.columns}
        exported = {
            row["rowKey"]: {
                names[field]: value
                for field, value in row["data"].items()
                if value is not None and (not columns or names[field] in columns)
            }
            for row in whole.rows_where(clauses)
            if row["presence"] == "present"
        }
    assert rows_of(table, Scope("local", table.id, columns, clauses)) == exported


def test_a_row_that_begins_to_meet_a_condition_comes_whole_and_one_that_ends_to_leaves(
    table: Table,
) -> None:
    scope = Scope("local", table.id, ("title", "price"), ["price < 10"])
    table.take({**A, "price": 12})
    table.take({**A, "price": 8})
    table.take({**A, "price": 7})
    table.take({**A, "price": 11})
    assert [line[:1] + line[2:] for line in lines_of(table, scope)] == [
        (2, "created", "A1", "title", None, A["title"]),
        (2, "created", "A1", "price", None, 8),
        (3, "updated", "A1", "price", 8, 7),
        (4, "missing", "A1", None, None, None),
    ]


def test_a_row_that_is_back_comes_with_all_its_cells(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    table.edit("A1", {"note": "while it was gone"})
    table.take(A, B, C)
    scope = Scope("local", table.id, ("title", "note"))
    assert [line[2:] for line in lines_of(table, scope, after=2)] == [
        ("missing", "A1", None, None, None),
        ("returned", "A1", "title", None, A["title"]),
        ("returned", "A1", "note", None, "while it was gone"),
        ("created", "C3", "title", None, C["title"]),
    ]


def test_a_change_of_what_is_not_shared_is_no_change(table: Table) -> None:
    table.take(A, B)
    table.take({**A, "price": 99}, B)
    scope = Scope("local", table.id, ("title",))
    assert len(lines_of(table, scope)) == 2
