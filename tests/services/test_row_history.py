"""What an accepted Run makes of the rows: kinds, statuses, deltas and times."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import Record
from livedata.model.row import RowFilter
from livedata.services import queries
from tests import made
from tests.services.table import A, B, C, Table, pages_of


def test_a_row_that_was_not_known_is_created_and_new(table: Table) -> None:
    run = table.take(A)
    (change,) = table.feed()
    row = table.rows()["A1"]
    assert (change["kind"], change["origin"], row["status"]) == ("created", "collection", "new")
    assert row["presence"] == change["presence"] == "present"
    assert row["firstSeenRunId"] == row["lastSeenRunId"] == change["runId"] == run["id"]
    assert table.cells("A1") == {**A, "note": None}


def test_a_first_revision_has_no_before_and_names_every_field_with_a_value_or_reason(
    table: Table,
) -> None:
    table.take(C)
    (change,) = table.feed()
    assert change["before"] is None
    assert "beforeOverrides" not in change
    assert change["previousRevisionId"] is None
    assert table.changed(change) == ["sku", "title", "price", "stock"]
    assert table.named(change["missingReasons"]) == {"price": "not_found"}


def test_a_row_whose_data_changed_is_updated_and_names_what_moved(table: Table) -> None:
    table.take(A)
    run = table.take({**A, "price": 11, "stock": False})
    change = table.feed()[-1]
    assert (change["kind"], table.rows()["A1"]["status"]) == ("updated", "changed")
    assert table.changed(change) == ["price", "stock"]
    assert change["runId"] == run["id"]
    assert table.cells("A1")["price"] == 11


def test_before_is_the_row_as_the_previous_revision_left_it(table: Table) -> None:
    table.take(A)
    table.take({**A, "price": 11})
    first, second = table.feed()
    assert second["before"] == first["data"]
    assert second["previousRevisionId"] == first["id"]
    assert second["beforeOverrides"] == {}


def test_a_value_that_vanishes_is_an_update_with_its_reason(table: Table) -> None:
    table.take(A)
    table.take({**A, "price": None})
    change = table.feed()[-1]
    assert (change["kind"], table.changed(change)) == ("updated", ["price"])
    assert table.named(table.rows()["A1"]["missingReasons"]) == {"price": "not_found"}


def test_a_reason_that_moves_alone_is_an_update_too(table: Table) -> None:
    table.take(C)
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [C])
    _unreadable(harvest.pages[0].records[0])
    table.finish(attempt, harvest)
    change = table.feed()[-1]
    assert (change["kind"], table.changed(change)) == ("updated", ["price"])
    assert table.named(change["missingReasons"]) == {"price": "extraction_failed"}


def test_an_absent_row_is_missing_and_gone_and_keeps_its_last_data(table: Table) -> None:
    first = table.take(A, B)
    table.take(B)
    row, change = table.rows()["A1"], table.feed()[-1]
    assert (change["kind"], change["presence"]) == ("missing", "missing")
    assert (row["status"], row["presence"]) == ("gone", "missing")
    assert change["changedFieldIds"] == []
    assert change["data"] == change["before"] == row["data"]
    assert row["lastSeenRunId"] == first["id"]


def test_a_row_that_stays_away_gets_no_further_revision(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    table.take(B)
    assert table.history("A1") == ["created", "missing"]


def test_a_row_that_is_back_is_returned_and_changed(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    run = table.take({**A, "title": "Lantern"}, B)
    row, change = table.rows()["A1"], table.feed()[-1]
    assert (change["kind"], table.changed(change)) == ("returned", ["title"])
    assert (row["status"], row["presence"], row["lastSeenRunId"]) == (
        "changed",
        "present",
        run["id"],
    )


def test_a_row_that_is_back_as_it_was_is_returned_and_names_no_field(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    table.take(A, B)
    assert table.history("A1") == ["created", "missing", "returned"]
    assert table.feed()[-1]["changedFieldIds"] == []


def test_an_unchanged_row_moves_only_where_and_when_it_was_seen(table: Table) -> None:
    table.take(A)
    before = table.rows()["A1"]
    run = table.take(A)
    after = table.rows()["A1"]
    assert after["observedAt"] > before["observedAt"]
    moved = {"status": "unchanged", "lastSeenRunId": run["id"], "observedAt": after["observedAt"]}
    assert after == {**before, **moved}
    assert table.history("A1") == ["created"]


def test_an_item_that_slides_to_another_page_has_not_changed(table: Table) -> None:
    table.take_pages([A, B], [C])
    evidence = table.row("B2")["evidence"]
    table.take_pages([A], [B, C])
    assert table.history("B2") == ["created"]
    assert table.rows()["B2"]["sourceUrl"].endswith("?page=2")
    assert table.row("B2")["evidence"] == evidence


def test_deltas_count_created_updated_and_returned_and_missing(table: Table) -> None:
    assert table.take(A, B)["rowDeltas"] == {"new": 2, "changed": 0, "gone": 0}
    assert table.take({**A, "price": 1})["rowDeltas"] == {"new": 0, "changed": 1, "gone": 1}
    assert table.take(A, B, C)["rowDeltas"] == {"new": 1, "changed": 2, "gone": 0}
    assert table.take(A, B, C)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_row_count_counts_present_rows(table: Table) -> None:
    counts = []
    for items in ([A, B, C], [A], [A, C]):
        table.take(*items)
        counts.append(table.dataset["rowCount"])
    assert counts == [3, 1, 2]


def test_sequences_run_from_1_without_gaps_and_per_dataset(table: Table) -> None:
    other = Table(table.store, made.declared("other"))
    for items in ([A, B], [B, C], [A]):
        table.take(*items)
        other.take(*items)
    for each in (table, other):
        assert [change["sequence"] for change in each.feed()] == list(range(1, 8))


def test_updated_at_never_falls_whatever_the_clock_does(
    table: Table, clock: Callable[[int], None]
) -> None:
    table.take(A, B)
    latest = table.rows()["B2"]["updatedAt"]
    clock(-7200)
    table.take({**A, "price": 1}, B)
    assert table.rows()["A1"]["updatedAt"] >= latest
    assert table.edit("B2", {"note": "x"})["createdAt"] >= table.rows()["A1"]["updatedAt"]


def test_since_a_rows_own_updated_at_returns_that_row(table: Table) -> None:
    table.take(A, B)
    table.take({**A, "price": 1}, B)
    since = ids.parse_timestamp(table.rows()["A1"]["updatedAt"])
    rows = queries.rows(table.store, "local", table.id, 100, RowFilter(since))[0]
    assert [row["rowKey"] for row in rows] == ["A1"]


def test_a_run_that_changes_nothing_leaves_nothing_but_itself(table: Table) -> None:
    table.take(A, B, C)
    before = table.dump("runs", "attempts", "ledger", "owners", "rows")
    rows = table.rows()
    table.take(A, B, C)
    assert table.dump("runs", "attempts", "ledger", "owners", "rows") == before
    assert len(table.rows()) == len(rows)


def test_a_new_user_column_alone_changes_no_row(table: Table) -> None:
    table.take(A)
    table.add_column("mine")
    assert table.take(A)["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}
    assert table.cells("A1") == {**A, "note": None, "mine": None}
    assert "mine" not in table.named(table.feed()[0]["data"])


def test_every_kind_of_revision_has_the_columns_of_its_schema(table: Table) -> None:
    table.take(A, B)
    table.take(B)
    table.add_column("mine")
    table.take({**A, "price": 1}, {**B, "price": 2}, C)
    table.take(A)
    later = table.feed(after=3)
    assert {change["kind"] for change in later} == {"returned", "updated", "created", "missing"}
    for change in later:
        assert change["schemaVersion"] == 2
        assert list(change["data"]) == list(table.fields.values())


def test_times_and_places_of_each_page_are_those_of_its_own_reading(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A], [B])
    late = replace(harvest.pages[1], at=harvest.pages[0].at + 5_000_000)
    table.finish(attempt, replace(harvest, pages=[harvest.pages[0], late]))
    rows = table.rows()
    assert ids.parse_timestamp(rows["B2"]["observedAt"]) == late.at
    assert rows["B2"]["sourceUrl"] == late.final_url != rows["A1"]["sourceUrl"]


def _unreadable(record: Record) -> None:
    place = record.values.index(None)
    record.reasons[place], record.texts[place] = "extraction_failed", "3 for 2"
