"""A crawl worker begins the Runs that may start in one transaction, and none that another has."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.model.ids import RunId
from livedata.services import attempts, runs
from livedata.services.attempts import Claim
from livedata.store import queue
from livedata.store.database.store import Store
from tests.made import make_dataset
from tests.services.test_calls import finish
from tests.store.test_lock_order import RecordingStore

ROOT = Path(__file__).parents[2]


def enqueue(store: Store, sites: Iterable[str], owner: str = "local") -> list[RunId]:
    """A Run of a new dataset for each of these sites, queued one after the other."""
    queued = []
    for number, site in enumerate(sites):
        dataset = make_dataset(store, owner, f"{owner} {number} {site}")
        run = RunId(ids.raw_id(runs.enqueue(store, owner, dataset)[0]))
        with store.writing() as writer:
            writer.execute("UPDATE runs SET site = :site WHERE id = :run", site=site, run=run)
        queued.append(run)
    return queued


def begun(claim: Claim) -> list[RunId]:
    return [attempt.run for _, attempt in claim.begun]


def all_statuses(store: Store) -> Counter[str]:
    with store.reading() as reader:
        return Counter(status for (status,) in reader.rows("SELECT status FROM runs"))


def test_as_many_begin_as_there_is_room_for_the_longest_waiting_first_one_of_a_site(
    store: Store,
) -> None:
    first, _, second, third = enqueue(store, "aabc")
    assert begun(attempts.claim(store, 2)) == [first, second]
    assert begun(attempts.claim(store, 9)) == [third]
    assert begun(attempts.claim(store, 9)) == []
    assert all_statuses(store) == {"running": 3, "queued": 1}


def test_an_attempt_that_was_claimed_is_as_one_that_was_begun(store: Store) -> None:
    claimed, alone = enqueue(store, "ab")
    ((queued, attempt),) = attempts.claim(store, 1).begun
    other = attempts.begin(store, alone)
    assert other is not None
    assert (queued.run, attempt.run, queued.name) == (claimed, claimed, attempt.dataset_name)
    assert (attempt.fence, attempt.number, attempt.owner) == (1, 1, "local")
    assert (type(attempt.recipe), attempt.followers) == (type(other.recipe), other.followers)
    for each in (attempt, other):
        attempts.heartbeat(store, each)
        finish(store, each)
    assert all_statuses(store) == {"failed": 2}


def test_a_run_that_was_given_back_is_claimed_with_its_number_again(store: Store) -> None:
    enqueue(store, "a")
    for fence in (1, 2, 3):
        ((_, attempt),) = attempts.claim(store, 1).begun
        assert (attempt.fence, attempt.number) == (fence, 1)
        attempts.give_back(store, attempt)


def test_isolated_runs_are_told_apart_and_none_of_them_begins(store: Store) -> None:
    runs_of = enqueue(store, "abcdefgh")
    with store.writing() as writer:
        for run in runs_of[:6]:
            writer.execute("UPDATE runs SET alone = true WHERE id = :run", run=run)
    claim = attempts.claim(store, 9)
    assert [queued.run for queued in claim.apart] == runs_of[: queue.BESIDE]
    assert begun(claim) == runs_of[6:]


def test_a_run_that_cannot_be_read_is_left_to_be_begun_by_itself_with_the_others(
    store: Store,
) -> None:
    first, second = enqueue(store, "ab")
    with store.writing() as writer:
        writer.execute(
            "UPDATE datasets SET columns = '{' WHERE id = "
            "(SELECT dataset_id FROM runs WHERE id = :run)",
            run=first,
        )
    claim = attempts.claim(store, 9)
    assert (begun(claim), [queued.run for queued in claim.singly]) == ([], [first, second])
    assert all_statuses(store) == {"queued": 2}


def test_a_run_of_no_declaration_is_held_and_the_others_begin(store: Store) -> None:
    first, second = enqueue(store, "ab")
    with store.writing() as writer:
        writer.execute(
            """UPDATE recipes SET source = '{"version": 7}' WHERE dataset_id = """
            "(SELECT dataset_id FROM runs WHERE id = :run)",
            run=first,
        )
    assert begun(attempts.claim(store, 9)) == [second]
    assert all_statuses(store) == {"held": 1, "running": 1}


@pytest.mark.postgres  # in a file who writes keeps all others out
@pytest.mark.parametrize("table", ["runs", "datasets"])
def test_what_others_have_locked_is_passed_over_and_there_may_be_more(
    store: Store, table: str
) -> None:
    first, second = enqueue(store, "ab")
    lock = {
        "runs": "SELECT id FROM runs WHERE id = :run",
        "datasets": "SELECT d.id FROM datasets d WHERE d.id = "
        "(SELECT dataset_id FROM runs WHERE id = :run)",
    }
    with closing(Store(store.url)) as other, other.writing() as writer:
        writer.locked(lock[table], run=first)
        claim = attempts.claim(store, 9)
        assert (begun(claim), claim.more) == ([second], True)
    claim = attempts.claim(store, 9)
    assert (begun(claim), claim.more) == ([first], False)


@pytest.mark.one_database
def test_to_begin_many_takes_no_more_statements_than_to_begin_one(store: Store) -> None:
    enqueue(store, map(str, range(9)))
    with closing(RecordingStore(store.url)) as recording:
        assert len(attempts.claim(recording, 1).begun) == 1
        assert len(attempts.claim(recording, 8).begun) == 8
    one, eight = recording.transactions
    # Three of them write nothing here, and are not sent.
    assert one == eight
    assert len(one) <= 11


def test_runs_behind_a_long_queue_for_few_sites_begin(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = queue._OLDEST.replace(f"LIMIT {queue.WALKED}", "LIMIT 5")
    assert few != queue._OLDEST
    monkeypatch.setattr(queue, "_OLDEST", few)
    monkeypatch.setattr(queue, "WALKED", 5)
    busy, *_ = enqueue(store, "a" * 12)
    assert begun(attempts.claim(store, 1)) == [busy]
    free, *_ = enqueue(store, "b" * 12)
    others = enqueue(store, "cdef")
    assert [queued.run for queued in runs.waiting(store, 3)] == [free, *others[:2]]
    assert begun(attempts.claim(store, 9)) == [free, *others]
    assert begun(attempts.claim(store, 9)) == []


def test_an_owner_with_a_hundred_runs_at_a_site_keeps_another_waiting_for_one(
    store: Store,
) -> None:
    enqueue(store, ["shop.example"] * 100, "alice")
    ((_, in_progress),) = attempts.claim(store, 9).begun
    enqueue(store, ["shop.example"], "bob")
    order = []
    for _ in range(3):
        assert begun(attempts.claim(store, 9)) == []
        finish(store, in_progress)
        ((_, in_progress),) = attempts.claim(store, 9).begun
        order.append(in_progress.owner)
    # The next of alice had come before.
    assert order == ["alice", "bob", "alice"]


CLAIMING = """
import sys
from livedata.services import attempts
from livedata.store.database.store import Store
store = Store(sys.argv[1])
sys.stdin.readline()
empty = 0
while empty < 3:
    claim = attempts.claim(store, int(sys.argv[2]))
    for _, attempt in claim.begun:
        print(attempt.run.hex(), attempt.site, flush=True)
    empty = 0 if claim.begun or claim.more else empty + 1
"""


def test_of_many_processes_that_claim_at_once_each_run_has_one(store: Store) -> None:
    waiting = enqueue(store, [f"{number % 30}.example" for number in range(40)])
    command = [sys.executable, "-c", CLAIMING, store.url, "3"]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) for _ in range(4)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    lines = [line.split() for process in processes for line in process.communicate()[0].split("\n")]
    claimed = [(run, site) for run, site in filter(None, lines)]
    assert len(claimed) == len({site for _, site in claimed}) == 30
    assert {run for run, _ in claimed} <= {run.hex() for run in waiting}
    assert all(process.returncode == 0 for process in processes)
    assert all_statuses(store) == {"running": 30, "queued": 10}
