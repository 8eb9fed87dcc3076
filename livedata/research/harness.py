"""A research Run from its question to its rows, in phases (rules 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from livedata.messages.request import format_detail
from livedata.model.problem import Problem, Remedy
from livedata.model.research.answers import OfferedPlan, SearchResult
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import SEARCHED, ResearchRecipe
from livedata.model.research.record import Memory
from livedata.model.run import ResearchStop
from livedata.research.asking.budget import LIMITS, Budget, Cost, Limit, Reached
from livedata.research.asking.prompts import plan_question
from livedata.research.asking.questions import AskedQuestion, ask, prepare, unanswered
from livedata.research.extraction import Extraction, smallest_question
from livedata.research.journal import Journal, fact, outcome_digest
from livedata.research.ports import Ports, Question, RunOver
from livedata.research.preview import Findings, Preview
from livedata.research.reading import SourceReader, Visit
from livedata.research.sources import in_order, search
from livedata.rules.research.offers import plan_faults

_DAY: Mapping[Limit, str] = {
    "token_limit": "research.day_token_limit",
    "cost_limit": "research.day_cost_limit",
}
"""Which limit of an owner's day is used up -> the code of that."""


async def research(recipe: ResearchRecipe, memory: Memory, ports: Ports) -> ResearchOutcome:
    """What a Run finds. Only what the ports answer decides it, and never when they answer."""
    journal = Journal(ports.recorder)
    budget = Budget(recipe.limits, memory.spent, ports.model.prices, memory.day)
    run = _Run(memory, ports, journal, budget)
    spent = budget.exceeded(budget.worst(_first_question(recipe), 1))
    if spent is not None and spent.of_day:
        return run.ended(run.limited(spent))
    try:
        return await run.all_phases(recipe)
    except _Unplanned as unplanned:
        limit = unplanned.limit
        stop = _Stop(unplanned.stop, unplanned.problem) if limit is None else run.limited(limit)
        return run.ended(stop)
    except RunOver as over:
        return run.ended(_Stop(over.rule))


def _first_question(recipe: ResearchRecipe) -> Question:
    """A question that is no longer than the first one of a Run."""
    if recipe.plan is None:
        return plan_question(recipe.prompt, "", ())
    return smallest_question(recipe.plan)


class _Stop(Struct, frozen=True):
    """By which rule a Run ended, with its figures, and what went wrong if something did."""

    rule: ResearchStop
    problem: Problem | None = None
    inputs: dict[str, Any] = field(default_factory=dict)


class _Run:
    """One attempt at a Run, from phase to phase."""

    def __init__(self, memory: Memory, ports: Ports, journal: Journal, budget: Budget) -> None:
        self._memory = memory
        self._ports = ports
        self._journal = journal
        self._budget = budget
        self._cost = Cost()
        self._complaint = ""

    async def all_phases(self, recipe: ResearchRecipe) -> ResearchOutcome:
        """Plan if there is no plan, search if there are no addresses, then read and extract."""
        if recipe.plan is None:
            planned = await _plan(recipe, self._ports, self._journal, self._budget)
            recipe, self._cost = planned.recipe, planned.cost
        results: Sequence[SearchResult] = ()
        if not recipe.urls:
            answers = await search(recipe, self._ports, self._journal)
            if answers.problem is not None:
                return self.ended(_Stop("search_failed", answers.problem))
            results = answers.results
        sources = in_order(recipe, self._memory.rows, results)
        visits = [Visit(number, source) for number, source in enumerate(sources, 1)]
        stop = await self._read(recipe, visits)
        return await self._preview(recipe, visits, stop)

    def ended(self, stop: _Stop, visits: Sequence[Visit] = ()) -> ResearchOutcome:
        """What a Run that found no rows tells."""
        return ResearchOutcome(
            stop=stop.rule,
            pages=[visit.result() for visit in visits],
            rows=[],
            problem=stop.problem,
            inputs=stop.inputs,
        )

    def limited(self, limit: Reached) -> _Stop:
        """The end by a limit; the owner's day is told of, since it has stopped other Runs too."""
        figures = self._budget.figures(limit, self._cost)
        problem = Problem(_DAY[limit.rule], figures, remedies=(Remedy("more_a_day"),))
        return _Stop(limit.rule, problem if limit.of_day else None, figures)

    async def _read(self, recipe: ResearchRecipe, visits: Sequence[Visit]) -> _Stop:
        """Read and extract pages until all are done or something ends it."""
        assert recipe.plan is not None
        extraction = Extraction(
            recipe.plan, self._ports.model, self._journal, self._budget, self._cost
        )
        most, before = recipe.limits.pages, self._memory.spent.pages
        reader = SourceReader(self._ports.sites, self._journal, extraction, most, before)
        try:
            await reader.read(visits)
            # Another Run may have the site while the last windows are still answered.
            await self._ports.sites.leave()
            await extraction.finish()
        except BaseException:
            # A cancelled task would leave windows behind, asked for answers that nobody takes.
            await extraction.abandon()
            raise
        self._cost = extraction.cost
        self._complaint = extraction.complaint
        over = reader.over or extraction.over
        if over is not None:
            return _Stop(over)
        if extraction.stop is not None:
            return _Stop(extraction.stop, unanswered(extraction.stop, extraction.complaint))
        if extraction.limit is not None:
            return self.limited(extraction.limit)
        if any(visit.fault == "page_budget" for visit in visits):
            return _Stop("page_budget", inputs={"limit": most, "reached": len(reader.asked)})
        return _Stop("all_selected_pages_checked")

    async def _preview(
        self, recipe: ResearchRecipe, visits: Sequence[Visit], stop: _Stop
    ) -> ResearchOutcome:
        assert recipe.plan is not None
        step = self._journal.begin("preview")
        findings: Findings = Preview(recipe.plan, self._memory, visits).findings(step.id)
        step.facts += findings.facts
        digest = outcome_digest(findings.rows, [*self._journal.facts, *step.facts])
        step.facts.append(fact("outcome_digest", step.id, detail=f"{stop.rule} {digest}"))
        await self._journal.end(step)
        return ResearchOutcome(
            stop=stop.rule,
            pages=[visit.result() for visit in visits],
            rows=findings.rows,
            gone=findings.gone,
            ambiguous=findings.ambiguous,
            problem=stop.problem,
            inputs=stop.inputs,
            digest=digest,
            complaint=self._complaint,
        )


class _Unplanned(Exception):
    """There is no plan: by which rule the Run stops, and why."""

    def __init__(
        self, stop: ResearchStop, problem: Problem | None = None, limit: Reached | None = None
    ) -> None:
        super().__init__(stop)
        self.stop: ResearchStop = stop
        self.problem = problem
        self.limit = limit


class _Planned(Struct, frozen=True):
    """The recipe with its plan, and what the plan cost."""

    recipe: ResearchRecipe
    cost: Cost


async def _plan(recipe: ResearchRecipe, ports: Ports, journal: Journal, budget: Budget) -> _Planned:
    """The recipe with a plan of the model's. Raises _Unplanned and RunOver."""
    cost = Cost()
    problems: list[str] = []
    for _ in range(2):
        source = recipe.urls[0] if recipe.urls else SEARCHED
        asked = await prepare(journal, ports.model, plan_question(recipe.prompt, source, problems))
        if asked.recalled is not None and _faults(msgspec.json.encode(asked.recalled.answer)):
            # Its JSON was valid, but no plan: who asks again may be answered better.
            asked = replace(asked, recalled=None)
        body, taken = await _ask(asked, ports, journal, budget, cost)
        cost += taken
        problems = await _configure(body, journal)
        if not problems:
            return _Planned(await _pin(body, ports, journal), cost)
    problem = Problem("research.planning_failed", {"detail": " ".join(problems)})
    raise _Unplanned("planning_failed", problem)


async def _ask(
    asked: AskedQuestion, ports: Ports, journal: Journal, budget: Budget, spent: Cost
) -> tuple[bytes, Cost]:
    """The answer and its cost."""
    step = journal.begin("planning")
    asked, worst, limit = _within(budget, asked, spent)
    if limit is not None:
        step.facts.append(fact(limit.rule, step.id))
        await journal.end(step, "failed")
        raise _Unplanned(limit.rule, limit=limit)
    async with journal.cancelled_if_over(step):
        answered = await ask(journal, ports.model, asked, step)
    cost = Cost() if answered.usage is None else budget.actual(answered.usage, worst)
    if answered.usage is None:
        step.facts.append(fact("answer_reused", answered.artifact))
    if answered.failure is not None or answered.answer is None:
        code = answered.failure or "model_invalid_output"
        step.facts.append(fact(code, answered.artifact))
        await journal.end(step, "failed")
        if code in LIMITS:
            raise _Unplanned(LIMITS[code], limit=Reached(LIMITS[code], of_day=True))
        stop: ResearchStop = "model_auth" if code == "model_auth" else "planning_failed"
        raise _Unplanned(stop, unanswered(code, answered.detail))
    await journal.end(step)
    return answered.answer, cost


def _within(
    budget: Budget, asked: AskedQuestion, spent: Cost
) -> tuple[AskedQuestion, Cost, Reached | None]:
    """The question with as many requests as fit, what they take at worst, and what is exceeded."""
    if asked.recalled is not None:
        return asked, Cost(), budget.exceeded(spent)
    twice, once = (asked.with_requests(requests) for requests in (2, 1))
    worst = budget.worst(twice.question, 2)
    if budget.exceeded(spent + worst) is None:
        return twice, worst, None
    worst = budget.worst(once.question, 1)
    return once, worst, budget.exceeded(spent + worst)


async def _configure(body: bytes, journal: Journal) -> list[str]:
    """What is wrong with a plan."""
    step = journal.begin("configure")
    faults = _faults(body)
    await journal.end(step, "failed" if faults else "succeeded")
    return faults


def _faults(body: bytes) -> list[str]:
    try:
        details = plan_faults(msgspec.json.decode(body, type=OfferedPlan))
    except msgspec.ValidationError as error:
        return [f"It is no plan: {error}."]
    return [f"{format_detail(detail)}." for detail in details]


async def _pin(body: bytes, ports: Ports, journal: Journal) -> ResearchRecipe:
    step = journal.begin("pin")
    recipe = await ports.recorder.pin(body.decode())
    await journal.end(step)
    return recipe
