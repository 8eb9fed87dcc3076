"""A Run's tape comes out of the store as it went in: rules 14.13."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.model.errors import BadRequest, NotFound
from livedata.research.replay.replay import replay
from livedata.research.replay.tape import load
from livedata.services.research import replays
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.research.recorded_run import recorded_run
from tests.services.table import Table


def test_a_run_is_replayed_from_the_store(store: Store) -> None:
    attempt, outcome = recorded_run(store)
    tape = replays.tape(store, "local", attempt.run)
    assert (tape.stop, tape.digest) == (outcome.stop, outcome.digest)
    assert asyncio.run(replay(tape)).identical
    with pytest.raises(NotFound):
        replays.tape(store, "bob", attempt.run)


def test_a_run_is_replayed_from_a_file(store: Store, livedata: Shell, tmp_path: Path) -> None:
    attempt, _ = recorded_run(store)
    file = tmp_path / "run.tape"
    arguments = ("research", "export", ids.format_uuid(attempt.run), "-o", str(file))
    written = livedata.json(*arguments)
    assert written == {"file": str(file), "artifacts": 2, "bytes": file.stat().st_size}
    assert asyncio.run(replay(load(file.read_bytes()))).identical
    assert "exists; --force replaces it" in livedata.error(*arguments)
    assert livedata.out(*arguments, "--force").startswith(f"Wrote {file}: 2 artifacts, ")


def test_a_run_of_selectors_has_no_tape(store: Store) -> None:
    run = Table(store).begin().run
    with pytest.raises(BadRequest, match="reads its pages with selectors"):
        replays.tape(store, "local", run)
