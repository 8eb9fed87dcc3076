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
