"""A research Run from its question to its rows, in phases (rules 14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from livedata.model.problem import Problem
from livedata.model.research.answers import SearchResult
from livedata.model.research.memory import Memory
from livedata.model.research.outcome import ResearchOutcome
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.run import ResearchStop
from livedata.research.asking.budget import Budget, Cost
from livedata.research.asking.questions import unanswered
from livedata.research.digests import outcome_digest
from livedata.research.extraction import Extraction
from livedata.research.journal import Journal, fact
from livedata.research.planning import Unplanned, plan
from livedata.research.ports import Ports, RunOver
from livedata.research.preview import Findings, Preview
from livedata.research.reading import Reader, Visit
from livedata.research.sources import in_order, search


async def research(recipe: ResearchRecipe, memory: Memory, ports: Ports) -> ResearchOutcome:
    """What a Run finds. Only what the ports answer decides it, and never when they answer."""
    journal = Journal(ports.recorder)
    budget = Budget(recipe.limits, memory.spent, ports.model.prices)
    run = _Run(memory, ports, journal, budget)
    try:
        return await run.all_phases(recipe)
    except Unplanned as unplanned:
        return run.ended(_Stop(unplanned.stop, unplanned.problem))
    except RunOver as over:
        return run.ended(_Stop(over.rule))


class _Stop(Struct, frozen=True):
    """By which rule a Run ended, and what went wrong if something did."""

    rule: ResearchStop
    problem: Problem | None = None


class _Run:
    """One attempt at a Run, from phase to phase."""

    def __init__(self, memory: Memory, ports: Ports, journal: Journal, budget: Budget) -> None:
        self._memory = memory
        self._ports = ports
        self._journal = journal
        self._budget = budget
        self._cost = Cost()
        self._asked = 0
        self._complaint = ""

    async def all_phases(self, recipe: ResearchRecipe) -> ResearchOutcome:
        """Plan if there is no plan, search if there are no addresses, then read and extract."""
        if recipe.plan is None:
            planned = await plan(recipe, self._ports, self._journal, self._budget)
            recipe, self._cost = planned.recipe, planned.cost
        results: Sequence[SearchResult] = ()
        if not recipe.urls:
            found = await search(recipe, self._ports, self._journal)
            if found.problem is not None:
                return self.ended(_Stop("search_failed", found.problem))
            results = found.results
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
            inputs=self._inputs(stop.rule),
        )

    async def _read(self, recipe: ResearchRecipe, visits: Sequence[Visit]) -> _Stop:
        """Read and extract pages until all are done or something ends it."""
        assert recipe.plan is not None
        extraction = Extraction(
            recipe.plan, self._ports.model, self._journal, self._budget, self._cost
        )
        most, before = recipe.limits.pages, self._memory.spent.pages
        reader = Reader(self._ports.sites, self._journal, extraction, most, before)
        try:
            await reader.read(visits)
            await self._ports.sites.leave()
            await extraction.finish()
        except BaseException:
            await extraction.abandon()
            raise
        self._cost, self._asked = extraction.cost, len(reader.asked)
        self._complaint = extraction.complaint
        over = reader.over or extraction.over
        if over is not None:
            return _Stop(over)
        if extraction.stop is not None:
            return _Stop(extraction.stop, unanswered(extraction.stop, extraction.complaint))
        if extraction.limit is not None:
            return _Stop(extraction.limit)
        if any(visit.fault == "page_budget" for visit in visits):
            return _Stop("page_budget")
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
            inputs=self._inputs(stop.rule),
            digest=digest,
            complaint=self._complaint,
        )

    def _inputs(self, rule: ResearchStop) -> dict[str, Any]:
        """The limit that a Run came to, and how far it came, over all attempts."""
        limits, total = self._budget.limits, self._budget.before + self._cost
        if rule == "page_budget":
            return {"limit": limits.pages, "reached": self._asked}
        if rule == "token_limit":
            return {"limit": limits.tokens, "reached": total.tokens}
        if rule == "cost_limit":
            return {"limit": limits.usd, "reached": round(total.usd, 6)}
        return {}
