"""Runs of research: a model says what the records of a page are, and quotes prove it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from livedata.model.diagnosis.diagnostics import Asked, CostArea, RunDiagnostics
from livedata.model.diagnosis.recorded_run import RunFacts, StepFact
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId, Micros
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe
from livedata.model.research.answers import CallUsage
from livedata.model.research.outcome import ResearchHarvest
from livedata.model.research.recipe import ResearchRecipe
from livedata.model.research.record import ResearchStep
from livedata.model.research.stored import SentRecipe, StoredRecipe, sent_recipe
from livedata.model.run import KEPT_FOR, RunDiscovery, TraceStep
from livedata.rules.changes.checks import Verdict, seen_records
from livedata.rules.changes.compare import (
    CurrentRow,
    Proposal,
    SeenRecord,
    fill_standing,
)
from livedata.rules.diagnosis.steps import trace_step
from livedata.services.run_view import RunView
from livedata.store.archived_tables import ARCHIVED_TABLES
from livedata.store.database.backend import Writer
from livedata.store.research import attempts, entities, usage

if TYPE_CHECKING:
    from livedata.rules.changes.guards import Drift
    from livedata.rules.explanation.run_context import RunContext
    from livedata.services.kinds.kind import Guarding
    from livedata.services.kinds.research_diagnostics import Story

archived: Final = frozenset(table.name for table in ARCHIVED_TABLES if not table.of_all)


def address(_declared: Any) -> None:
    """None: it reads many sites, and takes the turn of each by itself."""


def price(declared: Any) -> int:
    """As much as the limit of pages."""
    return int(declared["limits"]["maxPages"])


def sent(declared: Any) -> SentRecipe | None:
    """The recipe with its plan; None until it has one."""
    return sent_recipe(declared)


def to_judge(_declaration: dict[str, Any]) -> None:
    """None: what a plan may say is judged with the store, and addresses when they are read."""


def to_revise(declared: Any) -> StoredRecipe:
    """The recipe itself."""
    stored: StoredRecipe = declared
    return stored


def to_try(_recipe: Recipe | ResearchRecipe) -> None:
    """None: it has no selectors."""


def to_replay(recipe: Recipe | ResearchRecipe) -> ResearchRecipe:
    """The recipe itself."""
    return ResearchRecipe.of(recipe)


def inputs(
    _recipe: Recipe | ResearchRecipe, harvest: Harvest, verdict: Verdict
) -> Mapping[str, object]:
    """The Checks that failed, or the figures that the harness ended with."""
    if verdict.rule == "check_failed":
        return {"failedChecks": [check.id for check in verdict.checks if not check.passed]}
    return ResearchHarvest.of(harvest).research.inputs


def seen(
    recipe: Recipe | ResearchRecipe, harvest: Harvest, current: Sequence[CurrentRow]
) -> tuple[Mapping[str, SeenRecord], frozenset[str]]:
    """The records, filled up with what stands, and the rows that their own pages give up."""
    # As the rows are now: somebody may have edited one since the Run began.
    positions = [field.position for field in recipe.fields]
    filled = fill_standing(current, seen_records(harvest), positions)
    return filled, frozenset(ResearchHarvest.of(harvest).research.gone)


def lacks(harvest: Harvest, keys: set[str]) -> bool:
    """Whether a harvest gives up each of these rows."""
    return keys.issubset(ResearchHarvest.of(harvest).research.gone)


def facts(_recipe: Recipe | ResearchRecipe, _harvest: Harvest, before: RunFacts) -> RunFacts:
    """The facts as they were: no drift of rows is found by columns."""
    return before


def drift(
    _recipe: Recipe | ResearchRecipe,
    _facts: RunFacts,
    _before: RunFacts,
    proposal: Proposal,
    share: float | None,
    guarding: Guarding,
) -> tuple[Drift | None, list[Problem]]:
    """Pages that give up too many rows; nothing else is odd of a table that a model fills."""
    from livedata.rules.changes.guards import find_lost_entities

    lost = find_lost_entities(proposal.present, proposal.gone, enabled=share is not None)
    return guarding(lost), []


def keep(writer: Writer, dataset: DatasetId, harvest: Harvest) -> None:
    """Keep who the rows are."""
    entities.keep(writer, dataset, ResearchHarvest.of(harvest).research.identities)


def calls(view: RunView) -> list[CallUsage]:
    """What its calls of models and searches took."""
    return [call.usage for call in usage.calls_of(view.reader, view.id)]


def steps(view: RunView) -> tuple[list[TraceStep], str | None]:
    """The steps of all attempts that are kept, those given back too, and the newest harness."""
    since = Micros(view.reader.now() - KEPT_FOR)
    tried = attempts.all_of(view.reader, view.id)
    listed = [
        _step(attempt.id, step)
        for attempt in tried
        for step in attempts.steps(view.reader, attempt.raw, since)
    ]
    return listed, tried[-1].harness_version if tried else None


def _step(attempt: str, step: ResearchStep) -> TraceStep:
    fact: StepFact = {"phase": step.phase, "status": step.status, "startedAt": step.started}
    if step.ended is not None:
        fact["endedAt"] = step.ended
    if step.url is not None:
        fact["sourceUrl"] = step.url
    if step.failure is not None:
        reason, status, origin = step.failure.reason, step.failure.status, step.failure.origin
        fact["readFailure"] = {"reason": reason, "status": status, "finalUrl": origin}
    shown = trace_step(step.id, attempt, fact)
    if step.counts is not None:
        shown["candidateRows"] = step.counts.candidates
        shown["rejectedRows"] = step.counts.rejected
        shown["matchedRows"] = step.counts.matched
    return shown


def discovery(view: RunView) -> RunDiscovery | None:
    """What was searched for; None if it was given its pages."""
    from livedata.services.kinds.research_diagnostics import discovery

    return discovery(view)


def diagnose(view: RunView, cost: CostArea, asked: Asked) -> RunDiagnostics:
    """The diagnostics, from the facts of its steps."""
    from livedata.services.kinds.research_diagnostics import answer

    return answer(view, cost, asked)


def explain(context: RunContext) -> list[Problem]:
    """The cause that it has recorded itself: no selector can have caused its end."""
    from livedata.rules.explanation import explain_run

    return explain_run.explain_research(context)


def story(view: RunView) -> Story:
    """What was searched, read, refused, kept and dropped, and why."""
    from livedata.services.kinds.research_diagnostics import tell

    return tell(view)
