"""What a lease keeps, and what is taken back when it lapses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from livedata.messages.render import sentence
from livedata.model.errors import NotYet, RunInProgress
from livedata.model.problem import Problem
from livedata.services import attempts, interruptions, leases, processes, runs, scheduler
from livedata.services.attempts import Attempt
from livedata.store.database.store import Store
from tests.made import make_dataset
from tests.services.conftest import Clock

ROOT = Path(__file__).resolve().parents[2]


def begun(store: Store, name: str) -> Attempt:
    """An attempt at a Run of a dataset on a site of its own, in progress in this process."""
    dataset = make_dataset(store, name=name)
    with store.writing() as writer:
        writer.execute(
            "UPDATE recipes SET source = replace(source, 'shop.example', :host) "
            "WHERE dataset_id = :dataset",
            host=f"{name}.example",
            dataset=dataset,
        )
    queued = runs.take_up(store, "local", dataset, name)
    attempt = attempts.begin(store, queued.run)
    assert attempt is not None
    return attempt


def status(store: Store, attempt: Attempt) -> tuple[str, int]:
    with store.reading() as reader:
        row = reader.row("SELECT status, attempt FROM runs WHERE id = :id", id=attempt.run)
    assert row is not None
    return row[0], row[1]


def lapse(store: Store, *those: Attempt, holder: str | None = None) -> None:
    with store.writing() as writer:
        for attempt in those:
            writer.execute("UPDATE runs SET lease_until = 1 WHERE id = :id", id=attempt.run)
            if holder is not None:
                writer.execute(
                    "UPDATE runs SET lease_owner = :by WHERE id = :id", id=attempt.run, by=holder
                )


@pytest.mark.parametrize("is_due", [True, False])
def test_a_tick_takes_back_lost_runs_before_it_takes_the_fires(store: Store, is_due: bool) -> None:
    lost = begun(store, "lost")
    due = begun(store, "due").dataset if is_due else make_dataset(store, name="later")
    lapse(store, lost)
    with store.writing() as writer:
        writer.execute(
            "UPDATE datasets SET status = 'active', schedule = '0 6 * * *', next_run_at = :at "
            "WHERE id IN (:due, :lost)",
            at=1 if is_due else 2**62,
            due=due,
            lost=lost.dataset,
        )
    fires = {fire.dataset: fire.waited for fire in scheduler.tick(store, "UTC")}
    # The lost one is queued again, and its fire finds it waiting; the other is in progress.
    assert fires == ({"lost": True, "due": False} if is_due else {})
    with store.reading() as reader:
        status = reader.value("SELECT status FROM runs WHERE id = :run", run=lost.run)
    assert status == "queued"


def test_of_each_free_site_the_longest_waiting_run_may_start(store: Store) -> None:
    names = ["first", "second", "third", "fourth"]
    for name in names:
        runs.enqueue(store, "local", make_dataset(store, name=name))
    with store.writing() as writer:
        for number, (name, site) in enumerate(zip(names, "abba", strict=True)):
            writer.execute(
                "UPDATE runs SET site = :site, queued_at = :at WHERE dataset_id = "
                "(SELECT id FROM datasets WHERE name = :name)",
                site=site,
                at=number + 1,
                name=name,
            )

    def waiting(limit: int) -> list[str]:
        return [queued.name for queued in runs.waiting(store, limit)]

    assert [waiting(limit) for limit in (0, 1, 2, 9)] == [[], names[:1], names[:2], names[:2]]
    attempts.begin(store, runs.waiting(store, 1)[0].run)
    assert waiting(9) == ["second"]


def test_one_lapsed_lease_leaves_the_other_runs_of_a_live_process_alone(store: Store) -> None:
    first, second = begun(store, "first"), begun(store, "second")
    lapse(store, second)
    interruptions.reap_expired_leases(store)
    assert status(store, first) == ("running", 1)
    assert status(store, second) == ("queued", 1)
    with pytest.raises(NotYet):
        attempts.begin(store, first.run)


@pytest.mark.parametrize("seconds", [30 * 86_400, -7200, 3600])
def test_a_step_of_the_clock_neither_ends_a_lease_nor_makes_it_longer(
    store: Store, seconds: int, step: Clock, clock: Clock
) -> None:
    attempt = begun(store, "shop")
    step(seconds)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("running", 1)
    with pytest.raises(RunInProgress):
        runs.take_up(store, "local", attempt.dataset, "shop")
    clock(61)
    step(seconds)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("queued", 1)


def test_a_heartbeat_renews_a_lease_after_a_step_of_the_clock(
    store: Store, step: Clock, clock: Clock
) -> None:
    attempt = begun(store, "shop")
    clock(30)
    step(-7200)
    attempts.heartbeat(store, attempt)
    clock(75)
    step(86_400)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("running", 1)


def assert_read_by_its_time(store: Store, step: Clock, attempt: attempts.Attempt) -> None:
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("running", 1)
    step(61)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("queued", 1)


def test_the_lease_of_another_machine_is_read_by_its_time(store: Store, step: Clock) -> None:
    attempt = begun(store, "shop")
    with store.writing() as writer:
        writer.execute("UPDATE runs SET lease_owner = 'elsewhere/1/1'")
    assert_read_by_its_time(store, step, attempt)


GONE = leases.lease_holder().rpartition("/")[0] + "/0"
"""A process of this machine that is not there any more."""
ELSEWHERE = "elsewhere/1/1"


def test_runs_that_fell_together_are_started_by_themselves_and_used_no_attempt(
    store: Store,
) -> None:
    those = [begun(store, name) for name in ("first", "second", "third")]
    lapse(store, *those, holder=GONE)
    queue = [
        runs.take_up(store, "local", attempt.dataset, attempt.dataset_name) for attempt in those
    ]
    assert [queued.isolated for queued in queue] == [True, True, True]
    assert {status(store, attempt) for attempt in those} == {("queued", 0)}


def test_runs_whose_process_may_well_live_are_isolated_when_they_are_lost_together_again(
    store: Store,
) -> None:
    those = [begun(store, name) for name in ("first", "second")]
    for isolated in (False, True):
        lapse(store, *those, holder=ELSEWHERE)
        interruptions.reap_expired_leases(store)
        assert {queued.isolated for queued in runs.waiting(store, 9)} == {isolated}
        assert {status(store, attempt) for attempt in those} == {("queued", 0)}
        for attempt in those:
            assert attempts.begin(store, attempt.run) is not None
    # From now on each is by itself, and every loss counts, whatever else is lost at that time.
    for number in range(1, 4):
        assert {status(store, attempt) for attempt in those} == {("running", number)}
        lapse(store, *those, holder=ELSEWHERE)
        interruptions.reap_expired_leases(store)
        for attempt in those:
            attempts.begin(store, attempt.run)
    assert {status(store, attempt)[0] for attempt in those} == {"failed"}


def test_a_run_that_fell_alone_has_used_an_attempt_and_starts_among_others(store: Store) -> None:
    attempt = begun(store, "shop")
    interruptions.take_back(store, leases.lease_holder())
    assert status(store, attempt) == ("queued", 1)
    assert [queued.isolated for queued in runs.waiting(store, 9)] == [False]


def test_isolated_runs_that_wait_keep_no_other_from_being_told(store: Store) -> None:
    for number in range(8):
        runs.enqueue(store, "local", make_dataset(store, name=f"shop {number}"))
    with store.writing() as writer:
        for number in range(8):
            writer.execute(
                "UPDATE runs SET site = :name, queued_at = :at, alone = :alone WHERE dataset_id = "
                "(SELECT id FROM datasets WHERE name = :name)",
                name=f"shop {number}",
                at=number + 1,
                alone=number < 6,
            )
    told = runs.waiting(store, 1)
    assert [queued.name for queued in told if not queued.isolated] == ["shop 6"]
    assert [queued.name for queued in told if queued.isolated] == [
        f"shop {number}" for number in range(4)
    ]


STOOD_STILL = Problem("run.stood_still", {"attempts": 3, "seconds": 30.0})


def test_runs_of_a_killed_process_are_each_started_alone_and_the_last_attempt_says_why(
    store: Store,
) -> None:
    culprit, other = begun(store, "culprit"), begun(store, "other")
    interruptions.take_back(store, "elsewhere/1/1", STOOD_STILL)
    assert status(store, culprit) == ("running", 1)
    interruptions.take_back(store, leases.lease_holder(), STOOD_STILL)
    assert {status(store, attempt) for attempt in (culprit, other)} == {("queued", 0)}
    assert {queued.isolated for queued in runs.waiting(store, 9)} == {True}
    for number in range(1, 4):
        assert status(store, culprit) == ("queued", number - 1)
        assert attempts.begin(store, culprit.run) is not None
        interruptions.take_back(store, leases.lease_holder(), STOOD_STILL)
    with store.reading() as reader:
        ended = reader.row("SELECT status, error FROM runs WHERE id = :id", id=culprit.run)
    assert ended == ("failed", sentence(STOOD_STILL))
    assert status(store, other) == ("queued", 0)


def test_the_start_of_a_run_is_that_of_its_first_attempt(store: Store) -> None:
    attempt = begun(store, "shop")
    with store.reading() as reader:
        started = reader.value("SELECT started_at FROM runs")
    attempts.give_back(store, attempt)
    again = attempts.begin(store, attempt.run)
    assert again is not None
    with store.reading() as reader:
        assert reader.value("SELECT started_at FROM runs") == started


# Two containers may share a hostname, and the pids of one mean nothing in the other.
@pytest.mark.parametrize(
    "elsewhere",
    [
        (r"\+[0-9a-f-]{36}\+", "+00000000-0000-0000-0000-000000000000+"),  # another boot
        (r"\+[0-9]+/", "+1/"),  # another namespace of pids
        (r"\+.*?/", "/"),  # as versions wrote it that told neither
    ],
)
def test_the_lease_of_another_boot_or_pid_namespace_is_read_by_its_time(
    store: Store, step: Clock, elsewhere: tuple[str, str]
) -> None:
    attempt = begun(store, "shop")
    holder = re.sub(*elsewhere, f"{leases.lease_holder(0)}")
    assert holder != leases.lease_holder(0)
    with store.writing() as writer:
        writer.execute("UPDATE runs SET lease_owner = :holder", holder=holder)
    assert_read_by_its_time(store, step, attempt)


def test_processes_of_two_pid_namespaces_leave_each_others_live_runs_alone(store: Store) -> None:
    namespace = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*namespace, "true"]).returncode:
        # Who is not root may make one within a namespace of users.
        namespace += ["--user", "--map-root-user"]
    begun(store, "here")
    other = f"""
import sys
from livedata.services import attempts, runs
from livedata.services import interruptions
from livedata.store.database.store import Store
from tests.made import make_dataset
store = Store({store.url!r})
interruptions.reap_expired_leases(store)
queued = runs.take_up(store, "local", make_dataset(store, name="there"), "there")
assert attempts.begin(store, queued.run) is not None
print("begun", flush=True)
sys.stdin.read()
"""
    words = [*namespace, sys.executable, "-c", other]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        interruptions.reap_expired_leases(store)
        with store.reading() as reader:
            both = reader.rows("SELECT status, attempt FROM runs")
        process.communicate()
    assert both == [("running", 1)] * 2


def test_a_process_that_may_not_be_looked_at_is_judged_by_its_time(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    attempt = begun(store, "hidden")
    # As with hidepid and two users: the folder of a process is not there, the process is.
    truly = processes.started
    monkeypatch.setattr(processes, "started", lambda pid: truly(pid, tmp_path))
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("running", 1)
    clock(3600)
    interruptions.reap_expired_leases(store)
    assert status(store, attempt) == ("queued", 1)


def test_a_process_that_is_gone_is_told_from_one_that_is_hidden(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    assert processes.started(ended.pid, tmp_path) == ""
    assert processes.started(os.getpid(), tmp_path) == processes.UNKNOWN
