"""What any door shows of a Run, as one read transaction sees it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from livedata.model import ids
from livedata.model.dataset import Column, Dataset
from livedata.model.diagnosis.diagnostics import Stop
from livedata.model.diagnosis.explanation import FailedPage
from livedata.model.diagnosis.recorded_run import RecordedRun, RunFacts
from livedata.model.ids import DatasetId, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.store import attempts, datasets, held, recipes, rows, shown_runs
from livedata.store.attempts import RecordedAttempt
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database
from livedata.store.datasets import DatasetRef

if TYPE_CHECKING:
    from livedata.model.diagnosis.recorded_research import RecordedResearch


class RunView:
    """A Run of an owner: its row is read once, and each other part once, if it is asked for.

    What is asked of it stands in the services, as functions of a view: so the answers that one
    page or command has of a Run agree.
    """

    def __init__(self, reader: Reader, owner: OwnerName, run: RunId) -> None:
        """The view within a transaction. Raises NotFound."""
        self.reader, self.owner, self.id = reader, owner, run
        self.row = shown_runs.whole_run(reader, owner, run)
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
        return self.ref.fields.placed

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
    def attempts(self) -> Sequence[RecordedAttempt]:
        """Its attempts, in order."""
        return attempts.of_run(self.reader, self.id)

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

    def recorded(self, *, rows_too: bool = True) -> RecordedRun:
        """What it recorded; without its rows if nothing is to be said of them.

        The rows of a large table take a while to read, and are read each time.
        """
        head, identity = self.facts.get("head"), None
        # Runs of older versions did not record the head of the feed, so their rows are unknown.
        rows_then = {}
        if rows_too and head is not None:
            rows_then = rows.at_run(self.reader, self.ref.id, self.ref.fields, head)
        if isinstance(self.source, dict):
            identity = self.source.get("identity")
        return RecordedRun(
            run=self.run,
            attempt=self.attempts[-1].id if self.attempts else None,
            stop=self.stopped_by,
            facts=self.facts,
            problem=self.problem,
            source=self.source,
            columns=list(self.columns),
            composite=isinstance(identity, dict) and identity.get("kind") == "composite",
            rows=rows_then,
        )

    @property
    def _dataset(self) -> DatasetId:
        return DatasetId(ids.raw_id(self.run["datasetId"]))


@contextmanager
def viewing(db: Database, owner: OwnerName, run: RunId) -> Iterator[RunView]:
    """A view of a Run, in a transaction of its own. Raises NotFound."""
    with db.reading() as reader:
        yield RunView(reader, owner, run)
