"""The budget of a day: nobody is given what another has, and what is lost stays used."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime

import pytest

from livedata.model.research.settings import ResearchSettings
from livedata.services import accounts
from livedata.services.research import days
from livedata.services.research.days import SetAside, day_of
from livedata.store.database.store import Store

SETTINGS = ResearchSettings(research_tokens_a_day=1_000, research_usd_a_day=1.0)


@pytest.fixture
def owners(store: Store) -> Store:
    """A store with two owners."""
    for owner in ("alice", "bob"):
        accounts.grant(store, owner, 10)
    return store


@pytest.mark.parametrize(
    ("zone", "moment", "day", "renews"),
    [
        ("UTC", "2026-03-01T23:59:59Z", "2026-03-01", "2026-03-02T00:00:00Z"),
        ("UTC", "2026-03-02T00:00:00Z", "2026-03-02", "2026-03-03T00:00:00Z"),
        ("Europe/Berlin", "2026-03-01T23:30:00Z", "2026-03-02", "2026-03-02T23:00:00Z"),
        # The night in which the clock goes forward, and the one in which it goes back.
        ("Europe/Berlin", "2026-03-28T23:30:00Z", "2026-03-29", "2026-03-29T22:00:00Z"),
        ("Europe/Berlin", "2026-10-24T22:30:00Z", "2026-10-25", "2026-10-25T23:00:00Z"),
        ("Asia/Kathmandu", "2026-06-01T18:14:00Z", "2026-06-01", "2026-06-01T18:15:00Z"),
        ("America/Los_Angeles", "2026-01-01T05:00:00Z", "2025-12-31", "2026-01-01T08:00:00Z"),
    ],
)
def test_a_day_is_one_of_the_zone_in_which_schedules_are_read(
    zone: str, moment: str, day: str, renews: str
) -> None:
    assert day_of(datetime.fromisoformat(moment), zone) == (day, datetime.fromisoformat(renews))


def test_what_a_call_took_replaces_what_was_set_aside_for_it(owners: Store) -> None:
    kept = days.set_aside(owners, "alice", SETTINGS, 600, 0.5)
    assert isinstance(kept, SetAside)
    assert days.set_aside(owners, "alice", SETTINGS, 600, 0.1) == "token_limit"
    assert days.set_aside(owners, "alice", SETTINGS, 100, 0.6) == "cost_limit"
    assert isinstance(days.set_aside(owners, "bob", SETTINGS, 600, 0.5), SetAside)
    days.settle(owners, kept, 50, 0.01)
    today = days.of_owner(owners, "alice", SETTINGS)
    assert today.tokens == 50
    assert today.usd == pytest.approx(0.01)
    assert isinstance(days.set_aside(owners, "alice", SETTINGS, 950, 0.99), SetAside)
    assert days.set_aside(owners, "alice", SETTINGS, 1, 0.0) == "token_limit"


def test_a_call_whose_process_is_lost_stays_set_aside(owners: Store) -> None:
    days.set_aside(owners, "alice", SETTINGS, 900, 0.5)
    with closing(Store(owners.url)) as other:
        assert days.set_aside(other, "alice", SETTINGS, 200, 0.1) == "token_limit"


def test_a_day_without_limits_is_counted_all_the_same(owners: Store) -> None:
    kept = days.set_aside(owners, "alice", ResearchSettings(), 10**12, 10.0**6)
    assert isinstance(kept, SetAside)
    assert days.set_aside(owners, "alice", SETTINGS, 1, 0.0) == "token_limit"


def test_yesterday_counts_for_nothing(owners: Store) -> None:
    days.set_aside(owners, "alice", SETTINGS, 1_000, 1.0)
    with owners.writing() as writer:
        writer.execute("UPDATE research_days SET day = '2020-01-01'")
    assert days.of_all(owners, SETTINGS) == []
    assert isinstance(days.set_aside(owners, "alice", SETTINGS, 1_000, 1.0), SetAside)


def test_those_who_ask_at_one_time_are_given_no_more_than_there_is(owners: Store) -> None:
    def ask(_: int) -> bool:
        with closing(Store(owners.url)) as own:
            return isinstance(days.set_aside(own, "alice", SETTINGS, 130, 0.0), SetAside)

    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(ask, range(24)))
    assert sum(given) == 7
    assert days.of_owner(owners, "alice", SETTINGS).tokens == 7 * 130
