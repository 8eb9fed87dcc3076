"""Two machines on a server, with clocks ten minutes apart: nothing is taken twice or lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from livedata.model import ids
from livedata.model.errors import NotYet
from livedata.model.ids import Micros, RunId
from livedata.services import attempts, interruptions, processes, runs
from livedata.services.retention import count_old, forget_old
from livedata.store.database.store import Store
from tests.patience import until
from tests.services.table import A, Table
from tests.services.test_leases import begun, status
from tests.services.test_schedules import scheduled, ticked

pytestmark = pytest.mark.postgres  # a file is used on one machine

MINUTE = 60_000_000
DAY = 24 * 60
"""In minutes."""
CLOCKS = pytest.mark.parametrize("minutes", [10, -10])
Machine = Callable[[int], AbstractContextManager[None]]


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Be another machine meanwhile, whose clock is so many minutes ahead."""

    @contextmanager
    def be_elsewhere(minutes: int) -> Iterator[None]:
        truly = ids.now
        with monkeypatch.context() as machine:
            machine.setattr(ids, "now", lambda: Micros(truly() + minutes * MINUTE))
            machine.setattr(processes, "machine", lambda: "elsewhere")
            yield

    return be_elsewhere


@CLOCKS
def test_a_lease_is_as_long_for_another_machine(
    store: Store, elsewhere: Machine, minutes: int
) -> None:
    attempt = begun(store, "shop")
    with elsewhere(minutes):
        interruptions.reap_expired_leases(store)
        with pytest.raises(NotYet):
            attempts.begin(store, attempt.run)
    with store.writing() as writer:
        writer.execute("UPDATE runs SET lease_until = lease_until - 61000000")
    with elsewhere(minutes):
        interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("queued", 1)


@CLOCKS
def test_a_lease_that_another_machine_took_or_renewed_is_as_long_here(
    store: Store, elsewhere: Machine, minutes: int
) -> None:
    with elsewhere(minutes):
        attempt = begun(store, "shop")
        attempts.heartbeat(store, attempt)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("running", 1)
    with store.writing() as writer:
        writer.execute("UPDATE runs SET lease_until = lease_until - 61000000")
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("queued", 1)


def test_a_machine_whose_clock_is_far_ahead_lets_go_of_nothing(
    table: Table, elsewhere: Machine
) -> None:
    table.take(*({**A, "sku": f"K{number}"} for number in range(20)))
    held = table.take(A)
    with elsewhere(100 * DAY):
        assert sum(count_old(table.store).values()) == 0
        assert not +forget_old(table.store)
        assert runs.accept(table.store, "local", RunId(ids.raw_id(held["id"]))) == "succeeded"


@CLOCKS
def test_a_fire_comes_once_and_when_it_is_due(
    store: Store, elsewhere: Machine, minutes: int
) -> None:
    until(lambda: ids.now() % MINUTE < 50_000_000)  # no minute ends meanwhile
    now = ids.now()
    with elsewhere(minutes):
        dataset = scheduled(store, "* * * * *")
    with store.reading() as reader:
        noted = reader.value("SELECT next_run_at FROM datasets WHERE id = :id", id=dataset)
    assert now < noted <= now + MINUTE
    with elsewhere(minutes):
        assert ticked(store) == []
    with store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = :now", now=now)
    with elsewhere(minutes):
        assert ticked(store) == [("shop", True)]
        runs.cancel(store, runs.waiting(store, 1)[0].run)
        assert ticked(store) == []
    assert ticked(store) == []
