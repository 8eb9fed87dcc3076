"""A Run's tape comes out of the store as it went in: rules 14.13."""

from __future__ import annotations

import asyncio

import pytest

from livedata.model import ids
from livedata.model.errors import NotFound
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research
from livedata.research.replay.replay import replay
from livedata.research.replay.tape import dump, load
from livedata.services.attempts import Attempt
from livedata.services.research import recording, tapes
from livedata.store.database.store import Store
from tests.research.ports import page, ports
from tests.research.test_harness import answers, row
from tests.services.research_table import PAGE, ResearchTable


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


def test_a_run_is_replayed_from_the_store_and_from_a_file(store: Store) -> None:
    table = ResearchTable(store)
    rows = [row("Acme", City=("Bern", "Acme of Bern"), Founded=("1999", "since 1999"))]
    attempt = table.begin()
    assert isinstance(attempt.recipe, ResearchRecipe)
    known = recording.memory(store, attempt, HARNESS_VERSION)
    recorder = StoreRecorder(store, attempt)
    asked = ports(answers({PAGE: rows}), [page(PAGE, "Acme of Bern since 1999")], recorder=recorder)
    outcome = asyncio.run(research(attempt.recipe, known, asked))
    tape = tapes.tape(store, table.owner, attempt.run)
    assert (tape.stop, tape.digest) == (outcome.stop, outcome.digest)
    assert asyncio.run(replay(load(b"".join(dump(tape))))).identical
    with pytest.raises(NotFound):
        tapes.tape(store, "bob", attempt.run)
