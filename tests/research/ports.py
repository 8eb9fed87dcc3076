"""Ports of a research Run that live in memory: scripted answers, and all that was recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from livedata.model.research.answers import (
    CallUsage,
    Failed,
    ModelAnswer,
    OfferedPlan,
    PageText,
    SearchAnswer,
    SearchResult,
    Unread,
)
from livedata.model.research.outcome import ResearchedRow, ResearchOutcome
from livedata.model.research.recipe import (
    Attribute,
    ResearchField,
    ResearchLimits,
    ResearchRecipe,
    TablePlan,
)
from livedata.model.research.record import (
    Artifact,
    KnownCell,
    KnownEntity,
    KnownRow,
    Memory,
    ResearchFact,
    ResearchStep,
)
from livedata.model.run import Phase
from livedata.research.asking.prompts import HARNESS_VERSION
from livedata.research.asking.questions import RecordedAnswer
from livedata.research.ports import Place, Ports, Prices, Question, Recorder, RunOver, SearchQuery
from livedata.research.replay.tape import Tape

Answer = Mapping[str, Any] | Failed
Answering = Callable[[dict[str, Any]], Answer]
"""Answers the message of a question."""


def field(number: int, label: str) -> ResearchField:
    return ResearchField(f"field-{number}", label.lower(), label, number)


def recipe(
    *labels: str,
    kind: str = "company",
    scope: Sequence[str] = (),
    urls: Sequence[str] = (),
    limits: ResearchLimits | None = None,
    planned: bool = True,
) -> ResearchRecipe:
    attributes = tuple(Attribute(field(3 + n, each), each) for n, each in enumerate(labels))
    plan = TablePlan(
        "Companies",
        "a company",
        "Name",
        "companies",
        kind,  # type: ignore[arg-type]  # one of the six
        "",
        tuple(scope),
        attributes,
    )
    return ResearchRecipe(
        version=1,
        prompt="Which companies are there?",
        urls=tuple(urls),
        plan=plan if planned else None,
        name=field(0, "Name"),
        evidence=field(1, "Evidence"),
        source=field(2, "Source"),
        limits=limits or ResearchLimits(),
    )


def page(url: str, text: str, links: Sequence[tuple[str, str]] = (), **about: Any) -> PageText:
    return PageText(
        url, about.pop("final_url", url), 200, "A page", text, list(links), "d1" * 32, 1, **about
    )


class Jitter:
    """Lets others go first, as often as chance has it."""

    def __init__(self, seed: int | None) -> None:
        self._chance = None if seed is None else Random(seed)

    async def wait(self) -> None:
        for _ in range(0 if self._chance is None else self._chance.randrange(12)):
            await asyncio.sleep(0)


class Until:
    """Lets so many calls begin before the Run is over."""

    def __init__(self, calls: int | None) -> None:
        self._left = calls

    def begin(self) -> None:
        if self._left is not None:
            if self._left == 0:
                raise RunOver("deadline")
            self._left -= 1


class ScriptedModel:
    """Answers by a function of the message; counts what it was asked and what that took."""

    name = "scripted"
    prices: Prices | None = Prices(1.0, 2.0)

    def __init__(self, answering: Answering, jitter: Jitter, until: Until) -> None:
        self._answering = answering
        self._jitter = jitter
        self._until = until
        self.asked: list[Question] = []
        self.tokens = 0

    async def ask(self, question: Question) -> ModelAnswer:
        self._until.begin()
        self.asked.append(question)
        await self._jitter.wait()
        answer = self._answering(msgspec.json.decode(question.message))
        body = answer if isinstance(answer, Failed) else msgspec.json.encode(answer).decode()
        asked = len(question.message) // 4
        answered = 50 if isinstance(body, Failed) else len(body) // 4
        self.tokens += asked + answered
        return ModelAnswer(body, CallUsage("scripted", self.name, 1, asked, answered))


class ScriptedSites:
    """Pages by their addresses; any other is not found."""

    def __init__(
        self, pages: Mapping[str, PageText | Unread], jitter: Jitter, until: Until
    ) -> None:
        self._pages = pages
        self._jitter = jitter
        self._until = until
        self.asked: list[str] = []
        self.left = False

    async def read(self, url: str) -> PageText | Unread:
        self._until.begin()
        self.asked.append(url)
        await self._jitter.wait()
        return self._pages.get(url) or Unread(url, "http_error", 404)

    async def leave(self) -> None:
        self.left = True


class ScriptedSearch:
    """Always the same results."""

    address = "https://search.example"

    def __init__(self, urls: Sequence[str] | Failed) -> None:
        self._urls = urls

    async def search(self, query: SearchQuery) -> SearchAnswer:
        assert query.query
        usage = CallUsage("scripted", search_credits=1)
        if isinstance(self._urls, Failed):
            return SearchAnswer(self._urls, usage)
        results = [SearchResult(rank, url, "T", 0.5) for rank, url in enumerate(self._urls, 1)]
        return SearchAnswer(results, usage)


class Killed(Exception):
    """The process was lost while a step was written."""


class MemoryRecorder:
    """Keeps steps as they end; may be killed before one, and recalls what others kept."""

    def __init__(
        self,
        pinned: ResearchRecipe | None = None,
        earlier: Sequence[Artifact] = (),
        killed_at: int | None = None,
    ) -> None:
        self.steps: list[ResearchStep] = []
        self._pinned = pinned
        self._earlier = earlier
        self._killed_at = killed_at
        self._ids = 0

    def begin(self, phase: Phase, url: str | None = None) -> ResearchStep:
        return ResearchStep(id=self.new_id(), phase=phase, started=self._ids, url=url)

    def new_id(self) -> str:
        self._ids += 1
        return f"id-{self._ids}"

    async def end(self, step: ResearchStep) -> None:
        if len(self.steps) == self._killed_at:
            raise Killed
        step.ended = self._ids
        self.steps.append(step)

    async def recall(self, kind: str, request_digest: str, _place: Place) -> str | None:
        for artifact in reversed(self._earlier):
            if (artifact.kind, artifact.request_digest) == (kind, request_digest):
                recorded = msgspec.json.decode(artifact.body, type=RecordedAnswer)
                if recorded.answer is not None and not artifact.reused:
                    return artifact.body
        return None

    async def pin(self, plan: str) -> ResearchRecipe:
        msgspec.json.decode(plan, type=OfferedPlan)
        assert self._pinned is not None
        return self._pinned

    @property
    def facts(self) -> list[ResearchFact]:
        return [fact for step in self.steps for fact in step.facts]

    @property
    def artifacts(self) -> list[Artifact]:
        return [artifact for step in self.steps for artifact in step.artifacts]

    def tape(self, recipe: ResearchRecipe, memory: Memory, outcome: ResearchOutcome) -> Tape:
        return Tape(
            harness=HARNESS_VERSION,
            recipe=recipe,
            memory=memory,
            artifacts=self.artifacts,
            pinned=self._pinned,
            stop=outcome.stop,
            digest=outcome.digest,
        )


def ports(
    answering: Answering,
    pages: Sequence[PageText | Unread],
    *,
    results: Sequence[str] | Failed | None = None,
    recorder: Recorder | None = None,
    jitter: int | None = None,
    calls: int | None = None,
) -> Ports:
    wait, until = Jitter(jitter), Until(calls)
    return Ports(
        model=ScriptedModel(answering, wait, until),
        search=None if results is None else ScriptedSearch(results),
        sites=ScriptedSites({each.url: each for each in pages}, wait, until),
        recorder=recorder or MemoryRecorder(),
    )


def accept(memory: Memory, outcome: ResearchOutcome) -> Memory:
    """What is known once an outcome was accepted."""
    rows = {row.key: row for row in memory.rows}
    entities = {entity.key: entity for entity in memory.entities}
    urls = {page.number: page.final_url for page in outcome.pages}
    for row in outcome.rows:
        rows[row.key] = _accepted(row, rows.get(row.key), urls)
        entities[row.key] = KnownEntity(
            row.key,
            row.identity.kind,
            row.identity.anchor,
            row.identity.scope,
            row.identity.names,
            row.identity.urls,
            row.identity.aliases,
        )
    for key in outcome.gone:
        rows[key] = msgspec.structs.replace(rows[key], presence="missing")
    return Memory(list(entities.values()), list(rows.values()))


def _accepted(row: ResearchedRow, before: KnownRow | None, urls: Mapping[int, str]) -> KnownRow:
    cells = []
    for place, cell in enumerate(row.cells):
        if cell.stands:
            assert before is not None
            cells.append(before.cells[place])
        else:
            quote = cell.quote
            url = None if quote is None else urls[quote.page]
            text = None if quote is None else quote.text
            cells.append(KnownCell(cell.value, cell.reason, url, text))
    return KnownRow(row.key, "present", cells)
