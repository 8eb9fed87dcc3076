"""What was promised survives a power cut: Runs that were asked for, rows, charges, edits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from livedata.store.database.store import Store
from tests.power import noted, say_again
from tests.services.table import A, B, C, Table

pytestmark = pytest.mark.sqlite  # a server keeps its own files


def work(url: str) -> None:
    """Runs and edits, each of them told to somebody once it is committed."""
    with closing(Store(url)) as store:
        table = Table(store)
        table.take(A, B)
        table.edit("A1", {"title": "Lantern"})
        table.take(A, C)
        table.take(A, B, C)


def lost(home: Path, url: str, say: Callable[[str], str] = str, every: int = 1) -> tuple[int, int]:
    """How many outages there were, and how many lost what was told; what is left is whole.

    Of many outages only some are looked at: one of `every` so many.
    """
    store = Path(url.removeprefix("sqlite:///"))
    before = store.read_bytes()
    with noted() as said:
        work(url)
    (statements,) = [each for each in said if "PRAGMA journal_mode=WAL" in each]
    again = home / "again.db"
    again.write_bytes(before)
    states, outages = say_again(again, [say(statement) for statement in statements])
    losses = 0
    for outage in outages[::every]:
        state = outage.state(home / "after.db")
        assert state in states
        losses += states.index(state) < outage.told
    return len(outages[::every]), losses


def test_no_outage_loses_what_was_committed(store_url: str, tmp_path: Path) -> None:
    outages, losses = lost(tmp_path, store_url)
    assert outages > 300
    assert losses == 0


def test_an_outage_loses_commits_that_are_not_synced(store_url: str, tmp_path: Path) -> None:
    def say(statement: str) -> str:
        return statement.replace("synchronous=FULL", "synchronous=NORMAL")

    outages, losses = lost(tmp_path, store_url, say, every=10)
    assert 0 < losses < outages
