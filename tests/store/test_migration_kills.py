"""A migration that is killed leaves the old store, and the next one goes through."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from livedata.store.database.version import VERSION
from tests.databases import SQLITE, Server
from tests.made import store_in
from tests.migration_kills import FIRST


@pytest.fixture
def url(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of its own."""
    if database == SQLITE:
        yield store_in(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.mark.slow
def test_a_migration_that_is_killed_leaves_the_store_as_it_was(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.migration_kills", url],
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    killed = len(told["children"]) - 1
    assert killed > 5
    assert told["children"] == [[-signal.SIGKILL, FIRST]] * killed + [[0, VERSION]]
    assert (told["same"], told["problems"]) == (True, [])
