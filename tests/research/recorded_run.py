"""A research Run that is recorded in a store, with answers from memory."""

from __future__ import annotations

import asyncio

from livedata.model import ids
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research
from livedata.research.ports import Place
from livedata.services.attempts import Attempt
from livedata.services.research import recording
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

    async def recall(self, kind: str, request_digest: str, _place: Place) -> str | None:
        return recording.recall(self._store, self._attempt, kind, request_digest)

    async def pin(self, plan: str) -> ResearchRecipe:
        return recording.pin(self._store, self._attempt, plan)


def recorded_run(
    store: Store,
    *,
    harness: str = HARNESS_VERSION,
    text: str = "Acme of Bern since 1999",
    table: ResearchTable | None = None,
    calls: int | None = None,
) -> tuple[Attempt, ResearchOutcome]:
    """A Run of one page with this `text`, with all that it recorded.

    Its time is over after so many `calls`.
    """
    rows = [row("Acme", City=("Bern", "Acme of Bern"), Founded=("1999", "since 1999"))]
    table = table or ResearchTable(store)
    attempt = table.begin()
    assert isinstance(attempt.recipe, ResearchRecipe)
    known = recording.memory(store, attempt, harness)
    recorder = StoreRecorder(store, attempt)
    asked = ports(answers({PAGE: rows}), [page(PAGE, text)], recorder=recorder, calls=calls)
    outcome = asyncio.run(research(attempt.recipe, known, asked))
    table.finish(attempt, outcome)
    return attempt, outcome
