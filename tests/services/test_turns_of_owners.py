"""Turns of a site go round by owner: however many Runs one has, another waits for one of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from random import Random

import pytest

from livedata.model import ids
from livedata.model.harvest import StopReason
from livedata.model.ids import RunId
from livedata.services import attempts, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from tests import made


def enqueue(store: Store, owner: str, number: int) -> RunId:
    """A Run of a new dataset; all of them read one site."""
    dataset = made.make_dataset(store, owner, f"{owner} {number}")
    run, _ = runs.enqueue(store, owner, dataset)
    return RunId(ids.raw_id(run))


def next_of(store: Store) -> RunId:
    (queued,) = runs.waiting(store, 9)
    return queued.run


def execute(store: Store, run: RunId) -> str:
    """Execute a Run; whose it was."""
    attempt = attempts.begin(store, run)
    assert attempt is not None
    read = made.harvest(attempt.recipe, (), StopReason("natural_end"))
    attempts.finish(store, attempt, read, AcceptancePolicy())
    return attempt.owner


def test_of_an_owner_with_many_runs_another_waits_for_one(store: Store) -> None:
    many = [enqueue(store, "bob", number) for number in range(5)]
    in_progress = attempts.begin(store, many[0])
    assert in_progress is not None
    hers = [enqueue(store, "alice", number) for number in range(2)]
    assert runs.waiting(store, 9) == []
    read = made.harvest(in_progress.recipe, (), StopReason("natural_end"))
    attempts.finish(store, in_progress, read, AcceptancePolicy())
    order = []
    while queued := runs.waiting(store, 9):
        order.append(queued[0].run)
        execute(store, queued[0].run)
    assert order == [many[1], hers[0], many[2], hers[1], *many[3:]]


def test_owners_with_one_run_each_have_their_turn_as_they_came(store: Store) -> None:
    owners = ["carol", "alice", "bob"]
    for owner in owners:
        enqueue(store, owner, 0)
    assert [execute(store, next_of(store)) for _ in owners] == owners
    with store.reading() as reader:
        assert reader.value("SELECT count(*) FROM site_turns") == 0


@pytest.mark.one_database
@pytest.mark.parametrize("seed", range(8))
def test_the_oldest_run_of_an_owner_waits_for_one_of_each_other_owner(
    store: Store, clock: Callable[[int], None], seed: int
) -> None:
    random = Random(seed)
    waiting: defaultdict[str, list[RunId]] = defaultdict(list)
    turns: defaultdict[str, list[str]] = defaultdict(list)
    for moment in range(60):
        clock(random.randrange(100))  # it may go back, and stand still
        for number in range(random.randrange(3)):
            owner = random.choice("abcd")
            waiting[owner].append(enqueue(store, owner, 10 * moment + number))
            if len(waiting[owner]) == 1:
                turns[owner].clear()
        if not any(waiting.values()):
            continue
        run = next_of(store)
        owner = execute(store, run)
        waiting[owner].remove(run)
        turns[owner].clear()
        for other in {*"abcd"} - {owner}:
            if waiting[other]:
                turns[other].append(owner)
                assert len(turns[other]) == len({*turns[other]})


def test_who_claims_begins_the_run_whose_turn_it_is(store: Store) -> None:
    many = [enqueue(store, "bob", number) for number in range(4)]
    hers = enqueue(store, "alice", 0)
    order: list[RunId] = []
    while claimed := attempts.claim(store, 9).begun:
        ((_, attempt),) = claimed
        order.append(attempt.run)
        read = made.harvest(attempt.recipe, (), StopReason("natural_end"))
        attempts.finish(store, attempt, read, AcceptancePolicy())
    assert order == [many[0], hers, *many[1:]]
