"""What is asked of a store does not read more of it the more datasets there are.

Counted are the steps of SQLite's machine and not the time, so that nothing else on the machine
changes them; `python -m benchmarks.scale` measures the time, on both databases.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scale
from benchmarks.databases import SQLITE
from livedata.model import ids
from livedata.services import attempts, fires
from livedata.services.accounts import grant
from livedata.services.audit import vitals
from livedata.services.pages.history import of_charges
from livedata.store import accounts, queue, recipes
from livedata.store.database.store import Store
from tests.services.test_turns_of_owners import enqueue

FEW, MANY = 600, 3_000
EVERY = 10
"""SQLite tells of so many steps at once."""
SLACK = 1_000
"""What an index may be deeper, in steps."""
LOOKED_AT = 500
"""So many Runs doctor looks at here; the small store has more."""
COUNTED = {"metrics, many waiting"}
"""What says how many there are: they are counted, in an index."""


class Steps:
    """Counts the steps of every connection that is opened."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self._connect: Callable[..., sqlite3.Connection] = sqlite3.connect
        patch.setattr(sqlite3, "connect", self._opened)

    def of(self, ask: Callable[[], object]) -> int:
        """The steps of a question that was asked once already."""
        ask()
        before = self.count
        ask()
        return self.count - before

    def _opened(self, *given: Any, **more: Any) -> sqlite3.Connection:
        connection = self._connect(*given, **more)
        connection.set_progress_handler(self._step, EVERY)
        return connection

    def _step(self) -> None:
        self.count += EVERY


def steps(folder: Path, counted: Steps, count: int) -> Mapping[str, int]:
    """The steps of every question to a store of so many datasets."""
    url = f"sqlite:///{folder / f'{count}.db'}"
    with closing(Store(url)) as store:
        scale.first_run(store)
    with scale.connected(url) as driver:
        scale.Filling(driver, SQLITE, count).fill()
    with closing(Store(url)) as store:
        doctor = scale.Question("doctor", lambda: vitals.examine(store, fires.LATE))
        questions = [*scale.without_queue(store), doctor]
        taken = {each.what: counted.of(each.ask) for each in questions}
        with scale.connected(url) as driver:
            scale.Filling(driver, SQLITE, count).queue()
        return taken | {each.what: counted.of(each.ask) for each in scale.with_queue(store)}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, tuple[int, int]]:
    """What was asked -> the steps in a small store, and in one of ten times as many datasets."""
    folder = tmp_path_factory.mktemp("growth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vitals, "LOOKED_AT", LOOKED_AT)
        counted = Steps(patch)
        few, many = (steps(folder, counted, count) for count in (FEW, MANY))
    return {what: (few[what], many[what]) for what in few}


@pytest.mark.one_database
def test_no_question_takes_more_steps_where_there_are_more_datasets(
    measured: Mapping[str, tuple[int, int]],
) -> None:
    growing = {
        what: (few, many)
        for what, (few, many) in measured.items()
        if many > 2 * few + SLACK and what not in COUNTED
    }
    assert growing == {}


@pytest.mark.one_database
@pytest.mark.parametrize("kind", ["grant", "charge"])
def test_neither_grants_of_long_ago_nor_charges_are_read_for_what_was_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    counted = Steps(monkeypatch)

    def steps(count: int) -> int:
        with closing(Store(f"sqlite:///{tmp_path / f'{count}.db'}")) as store:
            for _ in range(count):
                grant(store, scale.OWNER, 1)
            with store.writing() as writer:
                writer.execute("UPDATE ledger SET kind = :kind", kind=kind)
            since = ids.Micros(0) if kind == "charge" else ids.now()
            grant(store, scale.OWNER, 7)
            return counted.of(lambda: of_charges(store, scale.OWNER, since))

    assert steps(500) <= 2 * steps(5)


@pytest.mark.one_database
def test_whose_turn_a_site_is_takes_no_more_steps_where_more_runs_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Steps(monkeypatch)

    def steps(count: int) -> list[int]:
        with closing(Store(f"sqlite:///{tmp_path / f'{count}.db'}")) as store:
            asked = [
                enqueue(store, owner, number)
                for number in range(count)
                for owner in ("alice", "bob")
            ]
            attempt = attempts.begin(store, asked[0])
            assert attempt is not None
            with store.reading() as reader:
                assert reader.value("SELECT count(*) FROM site_turns") == 1
                questions: list[Callable[[], object]] = [
                    lambda: queue.next_beside(reader, attempt.run),
                    lambda: recipes.ask_plans(reader, asked[1:2])(),
                    lambda: accounts.count_open_runs(reader, ["carol"]),
                ]
                return [counted.of(ask) for ask in questions]

    for few, many in zip(steps(20), steps(200), strict=True):
        assert many <= 2 * few + EVERY
