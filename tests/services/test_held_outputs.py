"""Outputs that wait for a person: the mass-loss guard, its confirmation, and taking one by hand."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.model import ids
from livedata.model.errors import Conflict, Damaged, NotFound
from livedata.services import accounts, queries, runs
from livedata.services.commit import AcceptancePolicy
from tests.services.table import LEDGER_START, A, B, C, Item, Table

MANY = [{**A, "sku": f"K{number:02}"} for number in range(20)]
DAYS = 86_400


@pytest.fixture
def full(table: Table) -> Table:
    """Twenty rows, the least that the guard watches."""
    table.take(*MANY)
    return table


def test_a_run_that_would_lose_over_half_of_20_rows_is_held(full: Table) -> None:
    run = full.take(*MANY[:9])
    assert (run["status"], full.dataset["rowCount"]) == ("held", 20)
    assert "11 of 20 rows would be gone" in str(run["error"])
    assert all(check["passed"] for check in run["checks"])


def test_losing_half_is_not_over_half(full: Table) -> None:
    assert full.take(*MANY[:10])["rowDeltas"]["gone"] == 10


def test_below_20_rows_the_guard_is_content(table: Table) -> None:
    table.take(*MANY[:19])
    assert table.take(MANY[0])["rowDeltas"]["gone"] == 18


@pytest.mark.parametrize(("share", "status"), [(None, "succeeded"), (0.05, "held")])
def test_a_setting_changes_or_turns_off_the_guard(
    full: Table, share: float | None, status: str
) -> None:
    kept = MANY[:1] if share is None else MANY[:18]
    assert full.take_pages(kept, policy=AcceptancePolicy(share))["status"] == status


def test_the_next_complete_run_confirms_the_loss(full: Table) -> None:
    full.take(*MANY[:5])
    run = full.take(*MANY[:5])
    assert (run["status"], run["rowDeltas"]["gone"]) == ("succeeded", 15)
    assert _held(full) == 0


def test_the_guard_holds_again_after_an_accepted_run(full: Table) -> None:
    full.take(*MANY[:5])
    full.take(*MANY)
    assert full.take(*MANY[:5])["status"] == "held"


def test_a_person_may_take_what_the_guard_held(full: Table) -> None:
    run = full.take(*MANY[:5])
    balance = queries.usage(full.store, "local")["balance"]
    assert _accept(full, run) == "succeeded"
    taken = queries.run(full.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert (taken["rowDeltas"]["gone"], taken["error"]) == (15, None)
    assert queries.usage(full.store, "local")["balance"] == balance - 1
    assert (full.dataset["rowCount"], _held(full)) == (5, 0)


def test_an_output_is_taken_once(full: Table) -> None:
    run = full.take(*MANY[:5])
    _accept(full, run)
    before = full.dump()
    with pytest.raises(Conflict, match="not held"):
        _accept(full, run)
    assert full.dump() == before


def test_an_output_is_refused_after_a_newer_accepted_run(full: Table) -> None:
    run = full.take(*MANY[:5])
    full.take(*MANY)
    with pytest.raises(Conflict, match="newer Run"):
        _accept(full, run)
    assert full.dataset["rowCount"] == 20


def test_taking_an_older_output_keeps_a_newer_one(table: Table) -> None:
    first, second = _held_for_credits(table, [A, B]), _held_for_credits(table, [A, C])
    accounts.grant(table.store, "local", 100)
    assert _accept(table, first) == "succeeded"
    assert _accept(table, second) == "succeeded"
    assert {key: row["presence"] for key, row in table.rows().items()} == {
        "A1": "present",
        "B2": "missing",
        "C3": "present",
    }


def test_taking_a_newer_output_ends_an_older_one(table: Table) -> None:
    first, second = _held_for_credits(table, [A, B]), _held_for_credits(table, [A, C])
    accounts.grant(table.store, "local", 100)
    assert _accept(table, second) == "succeeded"
    with pytest.raises(Conflict, match="newer Run"):
        _accept(table, first)


@pytest.mark.parametrize("seconds", [-7200, 3600, 30 * DAYS])
def test_an_output_is_refused_after_a_later_accepted_run_if_the_clock_was_moved(
    full: Table, clock: Any, seconds: int
) -> None:
    run = full.take(*MANY[:5])
    clock(seconds)
    full.take(*MANY)
    with pytest.raises(Conflict, match="newer Run"):
        _accept(full, run)
    assert _held(full) == 0


def test_outputs_are_ordered_as_they_were_held_if_the_clock_was_set_back(
    table: Table, clock: Any
) -> None:
    first = _held_for_credits(table, [A, B])
    clock(-7200)
    second = _held_for_credits(table, [A, C])
    accounts.grant(table.store, "local", 100)
    assert _accept(table, first) == "succeeded"
    assert _accept(table, second) == "succeeded"
    assert table.rows()["B2"]["presence"] == "missing"


def test_a_newer_output_ends_an_older_one_if_the_clock_was_set_back(
    table: Table, clock: Any
) -> None:
    first = _held_for_credits(table, [A, B])
    clock(-7200)
    second = _held_for_credits(table, [A, C])
    accounts.grant(table.store, "local", 100)
    assert _accept(table, second) == "succeeded"
    with pytest.raises(Conflict, match="newer Run"):
        _accept(table, first)


def test_an_output_is_compared_with_the_rows_of_the_moment_it_is_taken(full: Table) -> None:
    run = full.take({**MANY[0], "price": 5})
    full.edit("K00", {"price": 99})
    _accept(full, run)
    assert full.cells("K00")["price"] == 99
    assert full.named(full.row("K00")["overrides"])["price"]["value"] == 5


def test_an_output_is_kept_for_30_days(full: Table, clock: Any) -> None:
    run = full.take(*MANY[:5])
    clock(30 * DAYS + 60)
    with pytest.raises(Conflict, match="30 days"):
        _accept(full, run)
    clock(30 * DAYS - 60)
    assert _accept(full, run) == "succeeded"


def test_only_its_owner_takes_an_output(full: Table) -> None:
    run = full.take(*MANY[:5])
    with pytest.raises(NotFound):
        runs.accept(full.store, "bob", ids.RunId(ids.raw_id(run["id"])))


def test_a_run_that_is_not_held_cannot_be_taken(table: Table) -> None:
    run = table.take(A)
    with pytest.raises(Conflict, match="is succeeded, not held"):
        _accept(table, run)


def _accept(table: Table, run: Any) -> str:
    return runs.accept(table.store, "local", ids.RunId(ids.raw_id(run["id"])))


def _held(table: Table) -> int:
    return len(table.dump()["held_outputs"])


def _held_for_credits(table: Table, items: list[Item]) -> Any:
    """A Run of two pages for which there is but one credit."""
    balance = queries.usage(table.store, "local")["balance"]
    if balance == LEDGER_START:
        accounts.grant(table.store, "local", 1 - balance)
    run = table.take_pages(items[:1], items[1:])
    assert run["status"] == "held"
    return run


def test_a_loss_of_other_rows_confirms_nothing(full: Table) -> None:
    first, last = MANY[:5], MANY[-5:]
    assert full.take(*first)["status"] == "held"
    other = full.take(*last)
    assert other["status"] == "held", other
    assert full.take(*first)["status"] == "succeeded"


def test_a_smaller_loss_of_the_same_rows_is_confirmed(full: Table) -> None:
    assert full.take(*MANY[:5])["status"] == "held"
    assert full.take(*MANY[:8])["status"] == "succeeded"


def test_an_output_that_cannot_be_read_confirms_nothing_and_is_not_accepted(full: Table) -> None:
    first = full.take(*MANY[:5])
    with full.store.writing() as writer:
        writer.execute("UPDATE held_outputs SET harvest = :nothing", nothing=b"\0")
    with pytest.raises(Damaged, match=r"table held_outputs, row .* the column harvest"):
        _accept(full, first)
    assert full.take(*MANY[:5])["status"] == "held"
    assert full.take(*MANY[:5])["status"] == "succeeded"
