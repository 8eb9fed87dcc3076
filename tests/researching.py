"""Research Runs for tests that ask no store: a harness from a few words, and who answers it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct, field

from livedata.model.research.answers import CallUsage, Failed, ModelAnswer, PageText, Unread
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.run import Phase
from livedata.research.ports import Ports, Prices, Question
from livedata.rules.network.targets import TargetPolicy
from spiders.crawl.engine import CrawlEngine
from spiders.crawl.settings import FetchConfig
from spiders.research.crawl import ResearchJob, research
from tests.patience import LONG

QUESTION = Question("rows", "Read the page.", "{}", "{}", 100, 1, "http://site.test/", "")
NOTHING = ResearchOutcome("all_selected_pages_checked", [], [])


class SlowModel(Struct):
    """Answers after so many seconds; `asked` is set by the first question."""

    seconds: float = 0.0
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    name: str = "slow"
    prices: Prices | None = None

    async def ask(self, question: Question) -> ModelAnswer:
        """No valid answer, but one in the end."""
        self.asked.set()
        await asyncio.sleep(self.seconds)
        return ModelAnswer(Failed("model_refused", question.kind), CallUsage("test"))


class NoRecorder:
    """Records nothing."""

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        """A step of the first moment of all."""
        return ResearchStep(id="", phase=phase, started=0, url=url)

    def new_id(self) -> str:
        """No id."""
        return ""

    async def end(self, step: ResearchStep) -> None:
        """Forget the step."""

    async def recall(self, *_: object) -> str | None:
        """Nothing was ever answered."""
        return None

    async def pin(self, plan: str) -> ResearchRecipe:
        """Nothing is planned here."""
        raise NotImplementedError(plan)


class Researching:
    """Runs harnesses in the session's reactor, at sites of loopback."""

    def __init__(self, engine: CrawlEngine, allow: str) -> None:
        self.engine = engine
        self.allow = allow
        self.cancel = asyncio.Event()
        self.model = SlowModel()
        self.seconds = 30.0
        self.turns: list[str] = []
        self.how: dict[str, Any] = {}

    def run(self, harness: Callable[[Ports], Awaitable[ResearchOutcome]]) -> ResearchOutcome:
        """What a harness finds."""

        async def take_turn(site: str) -> None:
            self.turns.append(site)

        fetching = FetchConfig(
            TargetPolicy.parse(self.allow), "livedata-tests", **{"timeout": LONG, **self.how}
        )
        job = ResearchJob(
            *(harness, self.model, None, NoRecorder(), fetching, self.seconds, take_turn),
            cancel=self.cancel,
        )
        return self.engine.run(research(self.engine, job))

    def read(self, *urls: str) -> list[PageText | Unread]:
        """What is read at addresses, one after the other."""
        answers = []

        async def harness(ports: Ports) -> ResearchOutcome:
            answers.extend([await ports.sites.read(url) for url in urls])
            return NOTHING

        self.run(harness)
        return answers
