from __future__ import annotations

from collections.abc import Callable

import pytest

from livedata.model import ids
from tests.api.person import Person


def test_the_ledger_shows_the_first_credits_and_every_charge_newest_first(alice: Person) -> None:
    path = alice.dataset()
    run = alice.take(path)
    usage = alice.get("/usage")
    assert usage["balance"] == 999
    charge, grant = usage["ledger"]
    assert (charge["kind"], charge["credits"], charge["balanceAfter"]) == ("charge", -1, 999)
    assert (charge["runId"], charge["datasetId"]) == (run, path.rpartition("/")[2])
    assert (grant["kind"], grant["credits"], grant["runId"]) == ("grant", 1000, None)


def test_the_header_says_the_balance_on_every_answer(alice: Person) -> None:
    alice.take(alice.dataset())
    for path in ("/usage", "/datasets", "/datasets/x", "/datasets?limit=x"):
        assert alice.ask("GET", path).headers["X-Credits-Remaining"] == "999"


def test_owners_have_ledgers_of_their_own(alice: Person, bob: Person) -> None:
    alice.take(alice.dataset())
    assert bob.get("/usage")["balance"] == 1000
    assert len(bob.get("/usage")["ledger"]) == 1


@pytest.mark.parametrize(("days", "shown"), [(29, 1), (31, 0)])
def test_the_ledger_goes_back_30_days(
    monkeypatch: pytest.MonkeyPatch, alice: Person, days: int, shown: int
) -> None:
    truly: Callable[[], int] = ids.now
    monkeypatch.setattr(ids, "now", lambda: truly() + days * 86_400 * 1_000_000)
    usage = alice.get("/usage")
    assert usage["balance"] == 1000
    assert len(usage["ledger"]) == shown


def test_a_query_is_ignored(alice: Person) -> None:
    assert alice.get("/usage?limit=x")["balance"] == 1000
