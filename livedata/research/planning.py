"""The first phases of a dataset's first Run: a plan, checked and pinned."""

from __future__ import annotations

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from livedata.messages.request import format_detail
from livedata.model.problem import Problem
from livedata.model.research.answers import OfferedPlan
from livedata.model.research.recipe import SEARCHED, ResearchRecipe
from livedata.model.run import ResearchStop
from livedata.research.asking.budget import LIMITS, Budget, Cost, Reached
from livedata.research.asking.prompts import plan_question
from livedata.research.asking.questions import AskedQuestion, ask, prepare, unanswered
from livedata.research.journal import Journal, fact
from livedata.research.ports import Ports
from livedata.rules.research.plan import plan_faults


class Unplanned(Exception):
    """There is no plan: by which rule the Run stops, and why."""

    def __init__(
        self, stop: ResearchStop, problem: Problem | None = None, limit: Reached | None = None
    ) -> None:
        super().__init__(stop)
        self.stop: ResearchStop = stop
        self.problem = problem
        self.limit = limit


class Planned(Struct, frozen=True):
    """The recipe with its plan, and what the plan cost."""

    recipe: ResearchRecipe
    cost: Cost


async def plan(recipe: ResearchRecipe, ports: Ports, journal: Journal, budget: Budget) -> Planned:
    """The recipe with a plan of the model's. Raises Unplanned and RunOver."""
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
            return Planned(await _pin(body, ports, journal), cost)
    problem = Problem("research.planning_failed", {"detail": " ".join(problems)})
    raise Unplanned("planning_failed", problem)


async def _ask(
    asked: AskedQuestion, ports: Ports, journal: Journal, budget: Budget, spent: Cost
) -> tuple[bytes, Cost]:
    """The answer and its cost."""
    step = journal.begin("planning")
    asked, worst, limit = _within(budget, asked, spent)
    if limit is not None:
        step.facts.append(fact(limit.rule, step.id))
        await journal.end(step, "failed")
        raise Unplanned(limit.rule, limit=limit)
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
            raise Unplanned(LIMITS[code], limit=Reached(LIMITS[code], of_day=True))
        stop: ResearchStop = "model_auth" if code == "model_auth" else "planning_failed"
        raise Unplanned(stop, unanswered(code, answered.detail))
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
