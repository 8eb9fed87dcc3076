"""Who delivers is killed at random: each message arrives, in order, and none is lost."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from livedata.store.database.store import Store


@pytest.mark.slow
def test_no_message_is_lost_or_overtaken_if_who_delivers_is_killed(store: Store) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.notices.killing", "40", store.url],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["taken"], told["waiting"], told["givenUp"]) == (40, 0, 0)
    assert (told["outOfOrder"], told["problems"]) == ([], [])
    assert told["kills"] > 2


@pytest.mark.slow
# What differs by channel is behind the store: each of them is killed on one database.
@pytest.mark.parametrize(
    "channel",
    [
        "webhook",
        pytest.param("command", marks=pytest.mark.one_database),
        pytest.param("apprise", marks=pytest.mark.one_database),
    ],
)
def test_a_digest_whose_teller_is_killed_at_any_statement_is_told_with_one_id_and_one_body(
    store: Store, channel: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.notices.digest_kills", store.url, channel],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert (told["waiting"], told["problems"]) == (0, [])
    assert told["killed"] > 30
    bodies = {key: (body, after, through) for key, body, after, through in told["arrived"]}
    # Each round told one change, and each message is what it was however often it came.
    assert len(bodies) == told["killed"] + 1
    assert len({tuple(delivery) for delivery in told["arrived"]}) == len(bodies)
    assert len(told["arrived"]) > len(bodies)
    windows = [(after, through) for _, after, through in bodies.values()]
    assert windows == [(number, number + 1) for number in range(len(bodies))]
