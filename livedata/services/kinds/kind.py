"""What differs between the kinds of Runs, and stands in one module for each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from livedata.model.diagnosis.diagnostics import Asked, CostArea, RunDiagnostics
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.harvest import Harvest
from livedata.model.ids import DatasetId
from livedata.model.problem import Problem
from livedata.model.recipe import Recipe
from livedata.model.run import RunDiscovery, TraceStep
from livedata.rules.changes.checks import Verdict
from livedata.rules.changes.compare import CurrentRow, Proposal, SeenRecord
from livedata.services.run_view import RunView
from livedata.store.database.backend import Writer

if TYPE_CHECKING:
    from livedata.model.research.answers import CallUsage
    from livedata.model.research.recipe import ResearchRecipe
    from livedata.model.research.stored import SentRecipe, StoredRecipe
    from livedata.rules.changes.guards import Drift
    from livedata.rules.explanation.run_context import RunContext
    from livedata.services.kinds.research_diagnostics import Story

Seen = Mapping[str, SeenRecord]
Guarding = Callable[["Sequence[Drift]"], "Drift | None"]
"""Which of the drifts holds a Run for a person, if one does."""


class RunKind(Protocol):
    """A kind of Run, from its stored recipe to what is told of it; each module here is one."""

    @property
    def archived(self) -> frozenset[str]:
        """The tables of an archive that only its datasets have records in."""

    # What is declared.
    def address(self, declared: Any, /) -> str | None:
        """The address whose site has to be free before a Run starts; None if none has to."""

    def price(self, declared: Any, /) -> int:
        """The most credits that a Run costs, a page one."""

    def sent(self, declared: Any, /) -> SentRecipe | None:
        """The recipe as the artifacts of a Run name it; None if they name none."""

    def to_judge(self, declaration: dict[str, Any], /) -> dict[str, Any] | None:
        """What of a declaration is judged by the rules for sources; None if nothing is."""

    def to_revise(self, declared: Any, /) -> StoredRecipe | None:
        """The recipe whose plan may be revised; None if Runs follow no plan."""

    def to_try(self, recipe: Recipe | ResearchRecipe, /) -> Recipe | None:
        """The recipe whose selectors can be tried out; None if it has none."""

    def to_replay(self, recipe: Recipe | ResearchRecipe, /) -> ResearchRecipe | None:
        """The recipe by which a Run can be replayed; None if it keeps no answers."""

    # What an attempt has read.
    def inputs(
        self, recipe: Recipe | ResearchRecipe, harvest: Harvest, verdict: Verdict, /
    ) -> Mapping[str, object]:
        """The figures that the rule which ended the Run was applied to."""

    def seen(
        self, recipe: Recipe | ResearchRecipe, harvest: Harvest, current: Sequence[CurrentRow], /
    ) -> tuple[Seen, frozenset[str] | None]:
        """What was read of each row, by key, and which rows are gone; None: all others are."""

    def lacks(self, harvest: Harvest, keys: set[str], /) -> bool:
        """Whether accepting a harvest would take away each of these rows."""

    def facts(
        self, recipe: Recipe | ResearchRecipe, harvest: Harvest, before: RunFacts, /
    ) -> RunFacts:
        """What drifts are found by, of a harvest without columns that were dropped meanwhile.

        `before` are the facts with these columns.
        """

    def drift(
        self,
        recipe: Recipe | ResearchRecipe,
        facts: RunFacts,
        before: RunFacts,
        proposal: Proposal,
        share: float | None,
        guarding: Guarding,
        /,
    ) -> tuple[Drift | None, list[Problem]]:
        """The drift that holds a complete Run, if one does, and what else looks odd.

        `before` are the facts of the Run that was accepted last, `share` what a mass loss exceeds.
        """

    def keep(self, writer: Writer, dataset: DatasetId, harvest: Harvest, /) -> None:
        """Keep what an accepted harvest knows beside its rows."""

    # What is told of it.
    def calls(self, view: RunView, /) -> list[CallUsage] | None:
        """What its calls of models and searches took; None if it makes none."""

    def steps(self, view: RunView, /) -> tuple[list[TraceStep], str | None]:
        """The steps that are kept beside those of its attempts, and the version of its harness."""

    def discovery(self, view: RunView, /) -> RunDiscovery | None:
        """What was searched for; None if nothing was."""

    def diagnose(self, view: RunView, cost: CostArea, asked: Asked, /) -> RunDiagnostics:
        """Its diagnostics; `cost` has the times of the Run."""

    def explain(self, context: RunContext, /) -> list[Problem]:
        """The causes of its end, the likeliest first."""

    def story(self, view: RunView, /) -> Story | None:
        """What was searched, read, refused, kept and dropped, and why; None if it has no such."""
