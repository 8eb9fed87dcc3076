"""A filled store of each version is migrated, killed on its way, and the first and last by four."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from livedata.store.database.table import VERSION
from tests.migration_kills import AT_ONCE, versions


@pytest.mark.slow
def test_a_filled_store_of_each_version_is_migrated_with_its_feed(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.migration_kills", url],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["version"] for each in told] == versions()
    for each in told:
        # Who is killed leaves the store as it was; four at once migrate it.
        killed = [child for child in each["children"] if child != [0, VERSION]]
        assert killed == [[-signal.SIGKILL, each["version"]]] * len(killed)
        assert killed
        assert each["atOnce"] in ([0], [0] * AT_ONCE)
        assert (each["same"], each["problems"]) == (True, [])
    assert [len(told[place]["atOnce"]) for place in (0, -1)] == [AT_ONCE] * 2
    # And the next one goes through.
    *killed, last = told[-1]["children"]
    assert (len(killed) > 5, last) == (True, [0, VERSION])
