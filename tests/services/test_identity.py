"""The key of a row: what it is made of, and what a Run does that cannot tell its records apart."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model.row import Scalar
from livedata.model.run import CheckResult, Run
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, Table

pytestmark = pytest.mark.one_database


@pytest.mark.parametrize(
    ("kind", "value", "key"),
    [
        ("string", "A1", "A1"),
        ("string", "  a \u00a0 b\n", "a b"),
        ("string", "Cafe\u0301", "Caf\u00e9"),
        ("number", 10, "10"),
        ("number", 10.0, "10"),
        ("number", -0.0, "0"),
        ("number", 0.1, "0.1"),
        ("number", 2**53, "9007199254740992"),
        ("boolean", True, "true"),
    ],
)
def test_a_source_key_is_the_canonical_text_of_its_cell(
    store: Store, kind: str, value: Scalar, key: str
) -> None:
    table = Table(store, made.declared(columns=[{"name": "id", "type": kind, "key": True}]))
    table.take({"id": value})
    assert list(table.rows()) == [key]


def test_a_composite_key_is_a_compact_json_array_in_the_declared_order(store: Store) -> None:
    table = Table(store, _composite(["size", "sku"]))
    table.take({"sku": "Ü 1", "size": 10.0, "price": 2})
    assert list(table.rows()) == ['["10","Ü 1"]']


def test_rows_of_a_composite_key_differ_in_any_part(store: Store) -> None:
    table = Table(store, _composite(["sku", "size"]))
    table.take({"sku": "A1", "size": 1, "price": 2}, {"sku": "A1", "size": 2, "price": 2})
    assert list(table.rows()) == ['["A1","1"]', '["A1","2"]']


def test_keys_that_read_alike_are_the_same_row(table: Table) -> None:
    table.take({**A, "sku": "Cafe\u0301"})
    run = table.take({**A, "sku": "Caf\u00e9"})
    assert run["rowDeltas"]["new"] == 0
    assert list(table.rows()) == ["Caf\u00e9"]


def test_a_null_key_fails_identity_and_names_the_item_and_its_page(table: Table) -> None:
    run = table.take_pages([A], [{**B, "sku": None}])
    assert run["status"] == "failed"
    assert _identity(run)["passed"] is False
    assert "item 1 of page 2" in _identity(run)["message"]
    assert table.rows() == {}


def test_a_null_part_of_a_key_fails_identity(store: Store) -> None:
    table = Table(store, _composite(["sku", "size"]))
    run = table.take({"sku": "A1", "size": None, "price": 1})
    assert (run["status"], _identity(run)["passed"]) == ("failed", False)


def test_a_record_seen_twice_with_equal_data_is_one_row(table: Table) -> None:
    run = table.take_pages([A, B], [B])
    assert (run["status"], run["rowDeltas"]["new"]) == ("succeeded", 2)
    assert table.rows()["B2"]["sourceUrl"] == made.URL


def test_a_record_seen_twice_with_different_data_fails_identity_and_names_both_pages(
    table: Table,
) -> None:
    run = table.take_pages([A, B], [{**B, "price": 1}])
    assert (run["status"], run["rowDeltas"]["new"]) == ("failed", 0)
    assert "item 2 of page 1" in _identity(run)["message"]
    assert "item 1 of page 2" in _identity(run)["message"]


def test_minimum_items_counts_distinct_rows(store: Store) -> None:
    declared = made.declared()
    declared["source"]["minimumItems"] = 2  # type: ignore[index]  # it is a dict
    run = Table(store, declared).take_pages([A], [A])
    assert run["status"] == "failed"
    assert [check["checkId"] for check in run["checks"] if not check["passed"]] == ["minimum-items"]


def _composite(fields: list[str]) -> dict[str, Any]:
    columns: list[dict[str, object]] = [
        {"name": "sku", "type": "string", "key": True},
        {"name": "size", "type": "number", "key": True},
        {"name": "price", "type": "number"},
    ]
    declared: dict[str, Any] = made.declared(columns=columns)
    declared["source"]["identity"] = {"kind": "composite", "fields": fields}
    return declared


def _identity(run: Run) -> CheckResult:
    return next(check for check in run["checks"] if check["checkId"] == "identity")
