"""An act that is killed anywhere, or finds the disk full, has done all or nothing."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import Any

import pytest

from livedata.model.errors import StoreUnavailable
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.act_kills import NO_ROOM, finishing
from tests.databases import everything, full_disk

pytestmark = pytest.mark.slow


def failing(store: Store, fault: str, *acts: str) -> list[dict[str, Any]]:
    """How each act failed at every point; nothing is wrong with the store at the end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.act_kills", store.url, fault, *acts],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_all_or_nothing(act: dict[str, Any], failed: int, got_through: int) -> None:
    """All children but the last failed and left the store as it was; the last changed it."""
    before = len(act["children"]) - 1
    assert act["children"] == [[failed, False]] * before + [[got_through, True]]
    assert before > 5


def test_no_charge_and_no_fire_is_lost_or_doubled_if_its_process_is_killed_anywhere(
    store: Store,
) -> None:
    finish, tick, claim = failing(store, "kill", "finish", "tick", "claim")
    for act in (finish, tick, claim):
        assert_all_or_nothing(act, -signal.SIGKILL, -signal.SIGKILL)
    # After its commit the Run has ended: whoever ends it once more writes, charges, tells nothing.
    assert (finish["again"], finish["new"]) == ("LostLease", {"runs": 0, "outbox": 1})
    # After it there is one Run for the fire, and nothing is due.
    assert (tick["again"], tick["new"]) == ("nothing", {"runs": 1, "outbox": 0})
    assert (claim["again"], claim["new"]) == ("nothing", {"runs": 1, "outbox": 0})


def test_no_digest_is_lost_or_told_twice_if_its_process_is_killed_anywhere(store: Store) -> None:
    (digest,) = failing(store, "kill", "digest")
    assert_all_or_nothing(digest, -signal.SIGKILL, -signal.SIGKILL)
    # After its commit there is the one message, and nothing is due.
    assert (digest["again"], digest["new"]) == ("nothing", {"runs": 0, "outbox": 1})


def test_a_dataset_takes_over_wholly_or_not_at_all_if_its_process_is_killed_anywhere(
    store: Store,
) -> None:
    take_over, finish = failing(store, "kill", "take over", "finish heir")
    for act in (take_over, finish):
        assert_all_or_nothing(act, -signal.SIGKILL, -signal.SIGKILL)
    # After its commit another dataset has the name; and nobody ends a Run, or edits a row, twice.
    assert take_over["again"] == "ChangedMeanwhile"
    assert finish["again"] == "LostLease"


@pytest.mark.sqlite  # it is its file that cannot grow
def test_the_end_of_a_run_that_finds_the_disk_full_says_so_and_has_done_nothing(
    store: Store,
) -> None:
    (finish,) = failing(store, "full", "finish")
    assert_all_or_nothing(finish, NO_ROOM, 0)
    assert finish["again"] == "LostLease"


@pytest.mark.sqlite
def test_the_end_of_a_run_whose_disk_breaks_anywhere_says_so_and_has_done_nothing(
    store: Store,
) -> None:
    (finish,) = failing(store, "broken", "finish")
    assert_all_or_nothing(finish, NO_ROOM, 0)
    assert finish["again"] == "LostLease"


@pytest.mark.postgres
def test_the_end_of_a_run_on_a_server_whose_disk_is_full_says_so_and_has_done_nothing(
    store: Store,
) -> None:
    finish = finishing(store)
    queued = everything(store)
    finish(store)
    ended = everything(store)
    written = [table for table in ended if ended[table] != queued[table]]
    assert {"runs", "rows", "revisions", "ledger", "outbox"} <= {*written}

    finish = finishing(store, "ann")
    before = everything(store)
    sentence = f"The store at {store.place} cannot be used: its disk is full. "
    for table in (*written, "COMMIT"):
        with full_disk(store.url, table), pytest.raises(StoreUnavailable) as raised:
            finish(store)
        assert str(raised.value) == f"{sentence}Make room on the server, then try again."
        assert everything(store) == before
    finish(store)
    assert check_store(store).problems == []


def test_a_prune_that_is_killed_anywhere_has_let_go_of_whole_batches(store: Store) -> None:
    (prune,) = failing(store, "kill", "prune")
    # Five of a kind go as two, two and one; the facts of the last Run stay.
    first, *others = prune["left"]
    assert (first["steps"], first["skippedFires"], first["facts"]) == (5, 5, 4)
    assert {left["steps"] for left in others} == {5, 3, 1, 0}
    assert {left["skippedFires"] for left in others} == {5, 3, 1, 0}
    assert {left["facts"] for left in others} == {4, 2, 0}
    assert prune["kept"] is True
