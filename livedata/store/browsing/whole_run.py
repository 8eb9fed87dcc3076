"""All that the row of a Run has, read at once."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import Micros, OwnerName, RunId
from livedata.model.problem import Problem
from livedata.model.run import Run
from livedata.store import runs
from livedata.store.database.backend import Reader
from livedata.store.database.codec import FACTS, PROBLEM, STOP, unpacked

_WHOLE = (
    f"SELECT {runs.RUN}, r.recipe_version, r.stop, r.problem, r.facts {runs.OF_OWNER} r.id = :id"
)


class WholeRun(Struct, frozen=True):
    """A Run with what it keeps for later; what is of JSON is read when it is asked for."""

    run: Run
    queued: Micros
    started: Micros | None
    completed: Micros | None
    recipe_version: int
    _stop: str | None
    _problem: str | None
    _facts: str | None

    def stop(self) -> dict[str, Any]:
        """Which rule ended it, and what that was applied to; empty while it is open."""
        return STOP.load(self._stop) if self._stop else {}

    def facts(self) -> RunFacts:
        """What it found out; empty while it is open, and once that is let go of."""
        return FACTS.load(unpacked(self._facts)) if self._facts else {}

    def problem(self) -> Problem | None:
        """What went wrong; None also for Runs of versions that kept only the sentence."""
        return None if self._problem is None else PROBLEM.load(self._problem)


def get(reader: Reader, owner: OwnerName, run: RunId) -> WholeRun:
    """A Run of an owner. Raises NotFound."""
    row = reader.row(_WHOLE, owner=owner, id=run)
    if row is None:
        raise runs.not_found()
    queued, started, completed = row[8:11]
    return WholeRun(runs.as_run(row), queued, started, completed, *row[11:])
