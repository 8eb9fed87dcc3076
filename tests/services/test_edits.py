"""Hand edits: what they show, what they cover, and how a reset uncovers it."""

from __future__ import annotations

import pytest

from livedata.model import ids
from livedata.model.errors import Invalid
from livedata.model.row import Scalar
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, B, C, Table, pages_of


@pytest.fixture
def rows(table: Table) -> Table:
    """A1 and C3, of which C3 has no price."""
    table.take(A, C)
    return table


def test_an_override_is_shown_and_the_source_value_moves_under_it(rows: Table) -> None:
    evidence = rows.named(rows.row("A1")["evidence"])["price"]
    rows.edit("A1", {"price": 99})
    row = rows.row("A1")
    assert rows.cells("A1")["price"] == 99
    assert rows.named(row["overrides"]) == {"price": {"value": 10, "evidence": evidence}}
    assert "price" not in rows.named(row["evidence"])


def test_overriding_an_empty_cell_moves_its_reason_and_reset_moves_it_back(rows: Table) -> None:
    rows.edit("C3", {"price": 5})
    row = rows.row("C3")
    kept: dict[str, object] = {"value": None, "evidence": [], "missingReason": "not_found"}
    assert rows.named(row["overrides"]) == {"price": kept}
    assert row["missingReasons"] == {}
    rows.edit("C3", reset=["price"])
    row = rows.row("C3")
    assert rows.named(row["missingReasons"]) == {"price": "not_found"}
    assert (rows.cells("C3")["price"], row["overrides"]) == (None, {})


def test_a_reset_moves_value_and_evidence_back(rows: Table) -> None:
    before = rows.row("A1")
    rows.edit("A1", {"price": 99, "title": "Mine"})
    rows.edit("A1", reset=["price", "title"])
    after = rows.row("A1")
    for part in ("data", "evidence", "missingReasons", "overrides", "observations"):
        assert after[part] == before[part]


def test_a_second_override_keeps_the_sources_value(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    rows.edit("A1", {"price": 98})
    assert rows.named(rows.row("A1")["overrides"])["price"]["value"] == 10
    assert rows.named(rows.edit("A1", reset=["price"])["data"])["price"] == 10


def test_a_value_equal_to_the_sources_pins_the_field(rows: Table) -> None:
    rows.edit("A1", {"price": 10})
    rows.take({**A, "price": 12}, C)
    assert rows.cells("A1")["price"] == 10


def test_null_clears_a_cell_without_a_missing_reason(rows: Table) -> None:
    rows.edit("A1", {"price": None})
    row = rows.row("A1")
    assert rows.cells("A1")["price"] is None
    assert (row["missingReasons"], list(rows.named(row["overrides"]))) == ({}, ["price"])


def test_a_new_source_value_goes_under_the_override_and_is_an_update(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    run = rows.take({**A, "price": 12}, C)
    change = rows.feed()[-1]
    assert (change["kind"], rows.changed(change), run["rowDeltas"]["changed"]) == (
        "updated",
        ["price"],
        1,
    )
    assert rows.cells("A1")["price"] == 99
    assert rows.named(change["overrides"])["price"]["value"] == 12


def test_a_source_value_that_vanishes_under_an_override_leaves_its_reason_there(
    rows: Table,
) -> None:
    rows.edit("A1", {"price": 99})
    rows.take({**A, "price": None}, C)
    row = rows.row("A1")
    assert rows.named(row["overrides"])["price"]["missingReason"] == "not_found"
    assert row["missingReasons"] == {}


def test_a_reset_gives_the_latest_source_value(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    rows.take({**A, "price": 12}, C)
    rows.take({**A, "price": 13}, C)
    revision = rows.edit("A1", reset=["price"])
    assert rows.named(revision["data"])["price"] == 13
    assert rows.take({**A, "price": 13}, C)["rowDeltas"]["changed"] == 0


def test_an_unchanged_source_under_an_override_is_no_change(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    assert rows.take(A, C)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_runs_never_touch_user_cells(rows: Table) -> None:
    rows.edit("A1", {"note": "mine"})
    rows.take({**A, "price": 1}, C)
    rows.take(C)
    rows.take({**A, "title": "Lantern"}, C)
    assert rows.cells("A1")["note"] == "mine"
    assert rows.row("A1")["overrides"] == {}


def test_an_edit_names_every_field_given_moved_or_not(rows: Table) -> None:
    revision = rows.edit("A1", {"price": 10, "note": None})
    assert rows.changed(revision) == ["price", "note"]
    assert (revision["kind"], revision["origin"], revision["runId"]) == ("updated", "user", None)


def test_an_edit_moves_revision_and_update_and_nothing_that_runs_decide(rows: Table) -> None:
    before = rows.rows()["A1"]
    revision = rows.edit("A1", {"price": 99})
    after = rows.rows()["A1"]
    assert after["revisionId"] == revision["id"] != before["revisionId"]
    assert after["updatedAt"] == revision["createdAt"] > before["updatedAt"]
    moved = {name: after[name] for name in ("revisionId", "updatedAt", "data")}
    assert after == {**before, **moved}


def test_a_row_that_is_gone_can_be_edited_and_stays_gone(rows: Table) -> None:
    rows.take(C)
    revision = rows.edit("A1", {"price": 99})
    row = rows.rows()["A1"]
    assert (revision["presence"], row["presence"], row["status"]) == ("missing", "missing", "gone")
    rows.take({**A, "price": 12}, C)
    assert rows.cells("A1")["price"] == 99
    assert rows.named(rows.row("A1")["overrides"])["price"]["value"] == 12


def test_values_and_resets_of_different_fields_are_one_revision(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    revision = rows.edit("A1", {"title": "Mine"}, reset=["price"])
    assert rows.changed(revision) == ["title", "price"]
    assert (rows.cells("A1")["title"], rows.cells("A1")["price"]) == ("Mine", 10)


def test_a_field_both_set_and_reset_is_refused(rows: Table) -> None:
    rows.edit("A1", {"price": 99})
    _refused(rows, "both set and reset", {"price": 1}, ["price"])


def test_an_edit_of_nothing_is_refused(rows: Table) -> None:
    _refused(rows, "an edit of nothing", {}, [])


def test_a_reset_of_a_field_that_is_not_overridden_is_refused(rows: Table) -> None:
    rows.edit("A1", {"note": "mine"})
    _refused(rows, "nothing to reset", {}, ["price"])
    _refused(rows, "nothing to reset", {}, ["note"])


def test_identity_fields_are_read_only(rows: Table) -> None:
    _refused(rows, "identity", {"sku": "Z9"}, [])


def test_an_unknown_field_is_refused_by_its_path(rows: Table) -> None:
    row, field = rows.rows()["A1"], ids.format_uuid(ids.new_id())
    body = {"expectedRevisionId": row["revisionId"], "requestId": "r", "values": {field: 1}}
    with pytest.raises(Invalid) as refused:
        rows.send(row["id"], body)
    assert [detail.path for detail in refused.value.details] == [f"values.{field}"]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("string", ["", "x", "x" * 32_768], [1, True, "x" * 32_769]),
        ("number", [0, -1.5, 2**53], ["1", True, 2**53 + 1]),
        ("boolean", [True, False], [0, "true"]),
        ("date", ["2026-02-28", "2026-02-28T08:00:00Z"], ["2026-02-30", "28.2.2026", 20260228]),
        ("url", ["https://a.example/x?y"], ["a.example", "ftp://a.example", "https://a b", 1]),
    ],
)
def test_a_value_must_be_of_its_columns_type(
    rows: Table, kind: str, good: list[Scalar], bad: list[Scalar]
) -> None:
    rows.add_column("mine", kind)
    for value in [*good, None]:
        rows.edit("A1", {"mine": value})
        assert rows.cells("A1")["mine"] == value
    for value in bad:
        _refused(rows, "must be|is longer than", {"mine": value}, [])


def test_an_edit_between_start_and_end_of_a_run_is_kept(rows: Table) -> None:
    attempt = rows.begin()
    rows.edit("A1", {"price": 99})
    harvest = pages_of(attempt.recipe, [{**A, "price": 12}, C])
    assert rows.finish(attempt, harvest)["status"] == "succeeded"
    assert rows.cells("A1")["price"] == 99
    assert rows.named(rows.row("A1")["overrides"])["price"]["value"] == 12


def test_checks_judge_source_values_never_overrides(store: Store) -> None:
    table = Table(store, made.declared(required=["price"]))
    table.take(A, B)
    table.edit("A1", {"price": None})
    assert table.take(A, B)["status"] == "succeeded"
    table.edit("B2", {"price": 1})
    assert table.take(A, {**B, "price": None})["status"] == "failed"


def _refused(rows: Table, why: str, values: dict[str, Scalar], reset: list[str]) -> None:
    before = rows.dump()
    with pytest.raises(Invalid, match=why):
        rows.edit("A1", values, reset)
    assert rows.dump() == before
