"""Executes an attempt at a research Run: its harness, its providers, and what it records.

Imported by research Runs alone: no other needs a harness.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from importlib.util import find_spec

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.problem import Problem, Remedy
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.research.settings import ResearchSettings
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.harness import research as run_harness
from livedata.research.ports import Ports
from livedata.services.attempts import Attempt
from livedata.services.research import recording
from livedata.store.database.store import Store
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.settings import FetchConfig
from spiders.research.calls import DayModel
from spiders.research.crawl import ResearchJob, research
from spiders.research.recorder import Ask, StoreRecorder


class Researcher(Struct, frozen=True):
    """What executes research Runs."""

    store: Store
    engine: CrawlEngine
    fetching: FetchConfig
    settings: ResearchSettings
    ask: Ask

    async def execute(
        self,
        attempt: Attempt,
        cancel: asyncio.Event,
        tell: Callable[[ResearchStep], None],
        take_turn: Callable[[str], Awaitable[None]],
    ) -> tuple[Attempt, ResearchOutcome]:
        """What an attempt found, and the attempt with the recipe that it ended with."""
        recipe = ResearchRecipe.of(attempt.recipe)
        missing = self._missing()
        if missing is not None:
            return attempt, ResearchOutcome("model_unavailable", [], [], problem=missing)
        memory = await self.ask(
            recording.memory, self.store, attempt, HARNESS_VERSION, self.settings
        )
        recorder = StoreRecorder(self.store, attempt, self.ask, cancel, tell, fresh=memory.fresh)

        async def harness(ports: Ports) -> ResearchOutcome:
            return await run_harness(recipe, memory, ports)

        # Its packages are an extra.
        from livedata.research.providers.connection import connected

        async with connected(self.settings) as providers:
            model = DayModel(
                *(providers.model, self.store, attempt.owner, self.settings), recorder.kept
            )
            job = ResearchJob(
                harness,
                model,
                providers.search,
                recorder,
                self.fetching,
                self.settings.research_seconds,
                take_turn,
                cancel,
            )
            outcome = await research(self.engine, job)
        return replace(attempt, recipe=recorder.recipe), outcome

    def _missing(self) -> Problem | None:
        """What this installation lacks for research."""
        if not self.settings.model:
            return Problem("run.no_model", remedies=(Remedy("name_model"),))
        if find_spec("pydantic_ai") is None:
            return Problem("run.no_research_support", remedies=(Remedy("install_research"),))
        return None
