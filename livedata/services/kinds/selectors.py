"""Runs of selectors: the records are found by their place on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from livedata.model.diagnosis.diagnostics import Asked, CostArea, RunDiagnostics
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe
from livedata.model.run import TraceStep
from livedata.rules.changes.checks import Verdict, distinct, seen_records
from livedata.rules.changes.compare import CurrentRow, Proposal, SeenRecord
from livedata.services.run_view import RunView
from livedata.store.database.backend import Writer

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe
    from livedata.rules.changes.guards import Drift
    from livedata.rules.explanation.run_context import RunContext
    from livedata.services.kinds.kind import Guarding

archived: Final = frozenset[str]()
DEFAULT_PAGES: Final = 10
"""The limit of pages of a Run whose source does not set one."""


def address(declared: Any) -> str | None:
    """The address of the first page; a source without one is held at its start."""
    url = declared.get("url") if isinstance(declared, dict) else None
    return url if isinstance(url, str) else None


def price(declared: Any) -> int:
    """One credit without pagination, else as many as the limit of pages."""
    if not isinstance(declared, dict) or declared["pagination"]["kind"] == "none":
        return 1
    return int(declared.get("maxPages", DEFAULT_PAGES))


def sent(_declared: Any) -> None:
    """No recipe is named: a Run of selectors has no artifacts."""


def to_judge(declaration: dict[str, Any]) -> dict[str, Any] | None:
    """All of it, but for a source of another version: no Run reads one."""
    source = declaration["source"]
    return declaration if isinstance(source, dict) and source.get("version") == 1 else None


def to_revise(_declared: Any) -> None:
    """None: there is no plan."""


def to_try(recipe: Recipe | ResearchRecipe) -> Recipe:
    """The recipe itself."""
    return Recipe.of(recipe)


def to_replay(_recipe: Recipe | ResearchRecipe) -> None:
    """None: nothing that answered is kept."""


def inputs(
    recipe: Recipe | ResearchRecipe, harvest: Harvest, verdict: Verdict
) -> Mapping[str, object]:
    """The figures of the crawl, of the limits or of the Checks."""
    from livedata.rules.diagnosis.run_facts import stop_inputs

    return stop_inputs(verdict, harvest, Recipe.of(recipe))


def seen(
    _recipe: Recipe | ResearchRecipe, harvest: Harvest, _current: Sequence[CurrentRow]
) -> tuple[Mapping[str, SeenRecord], None]:
    """The record of each key: a complete list has all rows that are there."""
    return seen_records(harvest), None


def lacks(harvest: Harvest, keys: set[str]) -> bool:
    """Whether a list has none of these keys."""
    return keys.isdisjoint(distinct(harvest))


def facts(recipe: Recipe | ResearchRecipe, harvest: Harvest, _before: RunFacts) -> RunFacts:
    """The facts of what is left: each counts by the place of its column."""
    from livedata.rules.diagnosis.run_facts import summarize_harvest

    return summarize_harvest(harvest, Recipe.of(recipe))


def drift(
    recipe: Recipe | ResearchRecipe,
    facts: RunFacts,
    before: RunFacts,
    proposal: Proposal,
    share: float | None,
    guarding: Guarding,
) -> tuple[Drift | None, list[Problem]]:
    """What differs from the Run that was accepted last as if the site broke."""
    from livedata.rules.changes.guards import Comparison, find_drifts
    from livedata.rules.diagnosis.oddities import find_oddities

    present, changes = proposal.present, proposal.changes
    comparison = Comparison(Recipe.of(recipe), facts, before, present, changes)
    drifts = find_drifts(comparison, share)
    guarded = guarding(drifts)
    findings = [drift.finding for drift in drifts if drift is not guarded]
    oddities = find_oddities(comparison, [drift.finding for drift in drifts])
    return guarded, [*findings, *oddities]


def keep(_writer: Writer, _dataset: DatasetId, _harvest: Harvest) -> None:
    """Keep nothing: the rows are all that was read."""


def calls(_view: RunView) -> None:
    """None: nobody is asked but the site."""


def steps(_view: RunView) -> tuple[list[TraceStep], None]:
    """No steps but those of its attempts."""
    return [], None


def discovery(_view: RunView) -> None:
    """None: the source says where to read."""


def diagnose(view: RunView, cost: CostArea, asked: Asked) -> RunDiagnostics:
    """The diagnostics, from what its pages and fields were read as."""
    from livedata.rules.diagnosis.areas import report
    from livedata.rules.diagnosis.selectors import areas, entities

    # Only these two look at rows.
    recorded = view.recorded(rows_too=asked.summary or asked.entity is not None)
    answer = report(areas, recorded, cost)
    if asked.entity is not None:
        answer["entity"] = entities.diagnose(recorded, asked.entity, asked.field)
    if asked.summary:
        answer["summary"] = entities.summarize(recorded)
    return answer


def explain(context: RunContext) -> list[Problem]:
    """The causes that the page, the fields and the last accepted Run leave open."""
    from livedata.rules.explanation import explain_run

    return explain_run.explain(context)


def story(_view: RunView) -> None:
    """None: its trace and its diagnostics say all."""
