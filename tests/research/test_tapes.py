"""A Run's tape comes out of the store as it went in: rules 14.13."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from livedata.model import ids
from livedata.model.errors import BadRequest, NotFound
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research
from livedata.research.replay.replay import replay
from livedata.research.replay.tape import load
from livedata.services.attempts import Attempt
from livedata.services.research import recording, tapes
from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.research.ports import page, ports
from tests.research.test_harness import answers, row
from tests.services.research_table import PAGE, ResearchTable
from tests.services.table import Table


class StoreRecorder:
    """Records with an attempt of a store."""

    def __init__(self, store: Store, attempt: Attempt) -> None:
        self._store, self._attempt = store, attempt

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        return ResearchStep(id=self.new_id(), phase=phase, started=ids.now(), url=url)

    def new_id(self) -> str:
        return ids.format_uuid(ids.new_id())

    async def end(self, step: ResearchStep) -> None:
        step.ended = ids.now()
        recording.record(self._store, self._attempt, step)

    async def recall(self, kind: str, request_digest: str) -> str | None:
        return recording.recall(self._store, self._attempt, kind, request_digest)

    async def pin(self, plan: str) -> ResearchRecipe:
        return recording.pin(self._store, self._attempt, plan)


def recorded_run(store: Store) -> tuple[Attempt, ResearchOutcome]:
    """A Run of one page, with all that it recorded."""
    rows = [row("Acme", City=("Bern", "Acme of Bern"), Founded=("1999", "since 1999"))]
    attempt = ResearchTable(store).begin()
    assert isinstance(attempt.recipe, ResearchRecipe)
    known = recording.memory(store, attempt, HARNESS_VERSION)
    recorder = StoreRecorder(store, attempt)
    asked = ports(answers({PAGE: rows}), [page(PAGE, "Acme of Bern since 1999")], recorder=recorder)
    return attempt, asyncio.run(research(attempt.recipe, known, asked))


def test_a_run_is_replayed_from_the_store(store: Store) -> None:
    attempt, outcome = recorded_run(store)
    tape = tapes.tape(store, "local", attempt.run)
    assert (tape.stop, tape.digest) == (outcome.stop, outcome.digest)
    assert asyncio.run(replay(tape)).identical
    with pytest.raises(NotFound):
        tapes.tape(store, "bob", attempt.run)


def test_a_run_is_replayed_from_a_file(store: Store, livedata: Shell, tmp_path: Path) -> None:
    attempt, _ = recorded_run(store)
    file = tmp_path / "run.tape"
    arguments = ("research", "export", ids.format_uuid(attempt.run), "-o", str(file))
    written = livedata.json(*arguments)
    assert written == {"file": str(file), "artifacts": 2, "bytes": file.stat().st_size}
    assert asyncio.run(replay(load(file.read_bytes()))).identical
    assert "exists; --force overwrites it" in livedata.error(*arguments)
    assert livedata.out(*arguments, "--force").startswith(f"Wrote {file}: 2 artifacts, ")


def test_a_run_of_selectors_has_no_tape(store: Store) -> None:
    run = Table(store).begin().run
    with pytest.raises(BadRequest, match="reads its pages with selectors"):
        tapes.tape(store, "local", run)
