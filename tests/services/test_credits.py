"""Credits: one for each distinct checked page of an accepted Run, and nothing else ever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.errors import InsufficientCredits, Invalid, NotFound
from livedata.model.harvest import Harvest, PageFailure, StopReason
from livedata.model.ids import Micros, RunId
from livedata.model.problem import Remedy
from livedata.services import accounts, datasets, queries, runs
from livedata.services.pages.history import of_charges
from livedata.store import accounts as stored
from livedata.store.database.store import Store
from tests.made import GOES_ON, LOOPS, REFUSED
from tests.services.table import LEDGER_START, A, B, C, Table, pages_of


def test_an_accepted_run_costs_one_credit_per_checked_page(table: Table) -> None:
    run = table.take_pages([A], [B], [C])
    charge = _usage(table)["ledger"][0]
    assert _balance(table) == LEDGER_START - 3
    assert (charge["kind"], charge["credits"], charge["balanceAfter"]) == ("charge", -3, 997)
    assert (charge["runId"], charge["datasetId"]) == (run["id"], table.dataset["id"])


def test_a_run_that_changes_nothing_is_charged_too(table: Table) -> None:
    table.take(A)
    table.take(A)
    assert _balance(table) == LEDGER_START - 2


def test_two_addresses_of_one_page_are_one_credit(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A], [B])
    same = [replace(page, canonical=harvest.pages[0].canonical) for page in harvest.pages]
    table.finish(attempt, replace(harvest, pages=same))
    assert _balance(table) == LEDGER_START - 1


def test_an_end_page_answered_404_is_free(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A], [B])
    free = [harvest.pages[0], replace(harvest.pages[1], status=404, charged=False)]
    table.finish(attempt, replace(harvest, pages=free))
    assert _balance(table) == LEDGER_START - 1


@pytest.mark.parametrize("ending", ["failed", "held", "blocked"])
def test_a_run_that_is_not_accepted_costs_nothing(table: Table, ending: str) -> None:
    attempt = table.begin()
    whole = pages_of(attempt.recipe, [A])
    refused = PageFailure(1, "https://shop.example", "forbidden", 403, None, REFUSED)
    harvest = {
        "failed": replace(whole, ending=StopReason("check_failed", LOOPS)),
        "held": replace(whole, ending=StopReason("max_pages", GOES_ON)),
        "blocked": Harvest([], StopReason("page_failed", REFUSED), refused, 1, 1),
    }[ending]
    ledger = _usage(table)
    assert table.finish(attempt, harvest)["status"] == ending
    assert _usage(table) == ledger


def test_a_run_cannot_be_asked_for_at_a_balance_of_0(table: Table) -> None:
    accounts.grant(table.store, "local", -LEDGER_START)
    before = table.dump()
    with pytest.raises(InsufficientCredits) as refused:
        runs.enqueue(table.store, "local", table.id)
    assert refused.value.remedies == (Remedy("grant_credits", {"owner": "local"}),)
    assert table.dump() == before


def test_what_was_taken_is_the_same_by_day_and_by_dataset_as_by_entry(table: Table) -> None:
    day, now = Micros(86_400_000_000), ids.now()
    since = Micros(now - queries.LEDGER_WINDOW)
    taken: Counter[str] = Counter()
    accounts.grant(table.store, "bob", 1, first_credits=100)
    with table.store.writing() as writer:
        # The first grants as of long ago, so that the entries below are as of their moments.
        writer.execute("UPDATE ledger SET created_at = created_at - :back", back=60 * day)
        for back in (40, 31, 29, 29, 3, 0):
            moment, run = Micros(now - back * day), RunId(ids.new_id())
            assert stored.charge(writer, "bob", 2, moment, table.id, run)()
            stored.post(writer, "bob", 5, moment)
            if moment >= since:
                taken[ids.format_timestamp(moment)[:10]] += 2
    days = {point.at[:10]: point.value for point in of_charges(table.store, "bob", since)}
    assert {day: count for day, count in days.items() if count} == taken
    ((used,), counted_since) = accounts.by_dataset(table.store, "bob", since, {})
    assert (used.runs, used.credits, counted_since) == (4, 8, since)


def test_of_a_long_ledger_the_last_entries_say_what_each_dataset_took(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accounts, "LOOKED_AT", 2)
    for price in range(3):
        table.take({**A, "price": price})
    ((used,), since) = accounts.by_dataset(table.store, "local", Micros(0), {})
    assert (used.name, used.runs, used.credits) == ("shop", 2, 2)
    assert since > 0
    assert accounts.entries(table.store, "local", Micros(0), 2, 1).count == 2


def test_too_few_credits_hold_the_output_and_write_nothing(table: Table) -> None:
    accounts.grant(table.store, "local", 2 - LEDGER_START)
    run = table.take_pages([A], [B], [C])
    assert (run["status"], table.rows(), _balance(table)) == ("held", {}, 2)
    assert "the balance is 2" in str(run["error"])


def test_exactly_enough_credits_are_enough(table: Table) -> None:
    accounts.grant(table.store, "local", 3 - LEDGER_START)
    assert table.take_pages([A], [B], [C])["status"] == "succeeded"
    assert _balance(table) == 0


def test_an_output_held_for_credits_is_charged_when_it_is_accepted(table: Table) -> None:
    accounts.grant(table.store, "local", 1 - LEDGER_START)
    run = ids.RunId(ids.raw_id(table.take_pages([A], [B])["id"]))
    with pytest.raises(InsufficientCredits):
        runs.accept(table.store, "local", run)
    assert (_balance(table), table.rows()) == (1, {})
    accounts.grant(table.store, "local", 4)
    assert runs.accept(table.store, "local", run) == "succeeded"
    assert (_balance(table), list(table.rows())) == (3, ["A1", "B2"])


def test_each_entry_says_the_balance_after_it_newest_first(table: Table) -> None:
    table.take(A)
    accounts.grant(table.store, "local", 5, "thanks")
    usage = _usage(table)
    entries = [
        (entry["kind"], entry["credits"], entry["balanceAfter"]) for entry in usage["ledger"]
    ]
    assert entries == [("grant", 5, 1004), ("charge", -1, 999), ("grant", 1000, 1000)]
    assert usage["balance"] == 1004
    assert usage["ledger"][0]["note"] == "thanks"


def test_usage_shows_the_last_30_days(table: Table, clock: Any) -> None:
    clock(30 * 86_400 + 60)
    table.take(A)
    assert [entry["kind"] for entry in _usage(table)["ledger"]] == ["charge"]


def test_an_owner_is_given_first_credits_once(store: Store) -> None:
    accounts.create_key(store, "bob", None, first_credits=7)
    accounts.create_key(store, "bob", None, first_credits=7)
    assert queries.usage(store, "bob")["balance"] == 7
    assert len(queries.usage(store, "bob")["ledger"]) == 1


def test_a_negative_grant_takes_credits_away_but_never_below_0(store: Store) -> None:
    assert accounts.grant(store, "local", -LEDGER_START)["balanceAfter"] == 0
    with pytest.raises(Invalid, match="cannot fall below 0"):
        accounts.grant(store, "local", -1)
    assert queries.usage(store, "local")["balance"] == 0


def test_the_ledger_outlives_its_dataset(table: Table) -> None:
    table.take(A)
    ledger = _usage(table)
    datasets.remove(table.store, "local", table.id)
    assert _usage(table) == ledger


def _usage(table: Table) -> Any:
    return queries.usage(table.store, "local")


def _balance(table: Table) -> int:
    return int(_usage(table)["balance"])


def test_the_ledger_is_newest_first_whatever_the_clock_does(
    store: Store, clock: Callable[[int], None]
) -> None:
    accounts.grant(store, "local", 5)
    clock(-3600)
    entry = accounts.grant(store, "local", 7)
    ledger = queries.usage(store, "local")["ledger"]
    assert ledger[0] == entry
    assert [entry["credits"] for entry in ledger[:2]] == [7, 5]


def test_a_key_is_revoked_by_its_owner_only(store: Store) -> None:
    key = accounts.create_key(store, "bob", None)["id"]
    with pytest.raises(NotFound):
        accounts.revoke_key(store, key, "local")
    with pytest.raises(NotFound):
        accounts.revoke_key(store, "")
    assert accounts.revoke_key(store, key[-6:], "bob") == key
