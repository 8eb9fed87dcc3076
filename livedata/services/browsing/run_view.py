"""What any door shows of a Run, as one read transaction sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from livedata.messages.render import statement
from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.diagnosis.diagnostics import Stop
from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.model.recipe import is_research
from livedata.model.run import Run
from livedata.services.browsing.figures import Figures, figures
from livedata.store import accounts, datasets, held, recipes, runs
from livedata.store.browsing import whole_run
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef
from livedata.store.runs import Attempt

if TYPE_CHECKING:
    from livedata.model.diagnosis.recorded_research import RecordedResearch
    from livedata.model.research.answers import Usage as Call


class RunReport(Struct, frozen=True):
    """A Run with everything it stored at its end, for a person.

    `calls` has what each call of a model or a search took; None if the dataset is not of research.
    `output_kept` is whether it is held with an output that may be accepted.
    """

    run: Run
    stop: dict[str, Any]
    problem: Problem | None
    facts: RunFacts
    charged: int
    columns: list[Column]
    name: str
    calls: list[Call] | None
    figures: Figures
    output_kept: bool

    @property
    def why(self) -> str | None:
        """What it says of itself, without the advice to accept an output that is not kept."""
        if self.run["status"] != "held" or self.output_kept or self.problem is None:
            return self.run["error"]
        return statement(self.problem)


class RunView:
    """A Run of an owner: its row is read once, and each other part once, if it is asked for.

    What is asked of it stands in the services, as functions of a view: so the answers that one
    page or command has of a Run agree.
    """

    def __init__(self, reader: Reader, owner: OwnerName, run: RunId) -> None:
        """The view within a transaction. Raises NotFound."""
        self.reader, self.owner, self.id = reader, owner, run
        self.row = whole_run.get(reader, owner, run)
        self.run = self.row.run
        self.researched: tuple[RecordedResearch, bool] | None = None
        """What it recorded of its research, once that was read, and whether with its rows."""

    @cached_property
    def dataset(self) -> Dataset:
        """Its dataset."""
        return datasets.get(self.reader, self.owner, self._dataset)

    @cached_property
    def ref(self) -> DatasetRef:
        """The id, head and fields of its dataset."""
        return datasets.ref(self.reader, self.owner, self._dataset)

    @cached_property
    def columns(self) -> Sequence[Column]:
        """The columns of its dataset, in the order of their fields."""
        return [self.ref.fields.columns[field] for field in self.ref.fields.ids]

    @cached_property
    def stop(self) -> dict[str, Any]:
        """Which rule ended it; empty while it is open."""
        return self.row.stop()

    @property
    def stopped_by(self) -> Stop | None:
        """The same as diagnostics have it; None while it is open."""
        rule, inputs = self.stop.get("rule", ""), self.stop.get("inputs", {})
        return {"rule": rule, "inputs": inputs} if self.stop else None

    @cached_property
    def facts(self) -> RunFacts:
        """What it found out; empty while it is open."""
        return self.row.facts()

    @cached_property
    def problem(self) -> Problem | None:
        """What went wrong."""
        return self.row.problem()

    @cached_property
    def source(self) -> Any:
        """The declaration that it follows."""
        return recipes.source(self.reader, self._dataset, self.row.recipe_version)[1]

    @cached_property
    def of_research(self) -> bool:
        """Whether it is of research: a question about any other imports nothing of it."""
        return is_research(self.source)

    @cached_property
    def attempts(self) -> Sequence[Attempt]:
        """Its attempts, in order."""
        return runs.attempts(self.reader, self.id)

    @cached_property
    def page(self) -> FailedPage | None:
        """The page that stopped it, while that is kept."""
        return held.failed_page(self.reader, self.id, self.reader.now())

    @cached_property
    def output(self) -> bytes | None:
        """What it read, packed, if it is held and that is kept for a person to judge."""
        if self.run["status"] != "held":
            return None
        return held.output(self.reader, self.id, self.reader.now())

    @cached_property
    def calls(self) -> list[Call] | None:
        """What its calls of models and searches took; None if it is not of research."""
        try:
            of_research = self.of_research
        except SYMPTOMS:
            # The Run may have ended just because of this damage, and is to be shown.
            return None
        if not of_research:
            return None
        # Runs of selectors do not pay for the imports.
        from livedata.store.research import calls

        return [call.usage for call in calls.all_of(self.reader, self.id)]

    @cached_property
    def figures(self) -> Figures:
        """What a held one would change, and how far one in progress has come."""
        recorded = figures(self.reader, self.run, (self.stop, self.facts))
        if recorded.known or self.output is None:
            return recorded
        # Imported here because almost every Run has recorded it, and comparing needs a lot.
        from livedata.services.browsing.kept_output import kept_output

        kept = kept_output(self.reader, self.ref, self.row.recipe_version, self.output)
        new, changed, gone = kept.proposal.deltas
        return Figures(would={"new": new, "changed": changed, "gone": gone})

    def report(self) -> RunReport:
        """All of it that a person is shown, for when the transaction has ended."""
        return RunReport(
            run=self.run,
            stop=self.stop,
            problem=self.problem,
            facts=self.facts,
            charged=accounts.charged(self.reader, self.id),
            columns=self.dataset["columns"],
            name=self.dataset["name"],
            calls=self.calls,
            figures=self.figures,
            output_kept=self.output is not None,
        )

    @property
    def _dataset(self) -> DatasetId:
        return DatasetId(ids.raw_id(self.run["datasetId"]))


@contextmanager
def viewing(db: Database, owner: OwnerName, run: RunId) -> Iterator[RunView]:
    """A view of a Run, in a transaction of its own. Raises NotFound."""
    with db.reading() as reader:
        yield RunView(reader, owner, run)
