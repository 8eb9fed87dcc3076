"""Requests of one owner, however many and heavy, keep no other owner waiting."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from livedata.api.serving.turns import OF_ONE, THREADS, Acquaintances, Task, Threads, Turns
from tests import attack
from tests.api.serving import Serving
from tests.attack import Attacked

FEW = 1.0
"""The seconds in which another owner is answered."""


@given(st.lists(st.sampled_from("abc")), st.data())
def test_those_who_wait_go_round_and_nobody_has_more_than_a_share(
    asked: list[str], data: st.DataObject
) -> None:
    turns = Turns(str, lambda who: turns.ended(who))
    running: list[Task] = []
    passed: Counter[str] = Counter()
    for who in asked:
        turns.append(who)
    while len(turns) or running:
        if turns and (not running or data.draw(st.booleans())):
            task = turns.popleft()
            running.append(task)
            # Whoever waits and may be answered sees each other one at most once.
            able = {who for who in turns._waiting if turns._answered[who] < OF_ONE}
            passed = Counter({who: passed[who] + 1 for who in able - {task.who}})
            assert max(passed.values(), default=0) <= 2
        else:
            ended = running.pop(data.draw(st.integers(0, len(running) - 1)))
            ended.release(ended.who)
        assert max(Counter(task.who for task in running).values(), default=0) <= OF_ONE
    assert not turns


def test_of_credentials_only_the_last_are_known() -> None:
    known = Acquaintances(2)
    for number in range(3):
        known.meet(f"key {number}", f"owner {number}")
    assert [known.owner(f"key {number}") for number in range(3)] == [None, "owner 1", "owner 2"]


class Channel:
    """A connection whose request takes until it is let go on."""

    def __init__(self, key: str, peer: str = "10.0.0.1", path: str = "/v1/usage") -> None:
        self.key, self.peer = key, peer
        self.requests = [SimpleNamespace(path=path)]
        self.begun, self.go_on = threading.Event(), threading.Event()

    def credential(self) -> str:
        return self.key

    def service(self) -> None:
        self.begun.set()
        self.go_on.wait(20)

    def cancel(self) -> None:
        self.go_on.set()


@pytest.mark.parametrize(
    "crowd",
    [
        {"key": "Bearer of Bob"},
        {"key": "unknown", "peer": "10.0.0.2"},
        {"key": "", "path": "/feeds/one.atom"},
    ],
    ids=["an owner", "an address", "readers of a feed"],
)
def test_another_owner_is_answered_while_all_requests_of_a_crowd_stand_still(
    crowd: dict[str, Any],
) -> None:
    known = Acquaintances()
    known.meet("Bearer of Alice", "alice")
    known.meet("Bearer of Bob", "bob")
    threads = Threads(known)
    many = [Channel(**crowd) for _ in range(3 * THREADS)]
    hers = Channel("Bearer of Alice")
    try:
        for channel in [*many, hers]:
            threads.add_task(channel)
        assert hers.begun.wait(5)
        assert sum(channel.begun.is_set() for channel in many) <= OF_ONE
        for channel in many:
            channel.go_on.set()
        assert all(channel.begun.wait(5) for channel in many)
    finally:
        for channel in [*many, hers]:
            channel.go_on.set()
        threads.shutdown(timeout=5)


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Attacked]]:
    home = tmp_path_factory.mktemp("attacked")
    asked = attack.fill(Path(home))
    with Serving(home) as serving:
        attack.waits(serving.port, asked.alice, 0)  # now all is imported, and the server knows her
        yield serving, asked


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.one_database
@pytest.mark.parametrize("name", attack.NAMES)
def test_an_owner_is_answered_beside_an_attack_of_another(
    attacked: tuple[Serving, Attacked], name: str
) -> None:
    serving, asked = attacked
    ask = asked.attacks[name]
    with attack.flood(serving.port, ask, THREADS + 4):
        time.sleep(0.5)
        taken = attack.waits(serving.port, asked.alice, 0)
    attack.settle(serving.port, ask)
    assert {status for _, status in taken} <= {f"200 {each.path}" for each in asked.alice}
    assert attack.percentile(taken)[0] < FEW, attack.percentile(taken)
