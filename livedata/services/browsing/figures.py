"""The figures of Runs that have not changed the table: of held ones, and of those in progress.

`rowDeltas` of a Run are zeros until it is accepted, so they say nothing of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from livedata.model import ids
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import RunId
from livedata.model.run import RowDeltas, Run
from livedata.store import runs
from livedata.store.browsing import progress
from livedata.store.browsing.progress import Progress
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database


class Figures(Struct, frozen=True):
    """What accepting a held Run would have done when it ended, and how far an open one has come.

    Each is None of Runs that have no such figure, or of which it was not recorded.
    """

    would: RowDeltas | None = None
    so_far: Progress | None = None


def all_figures(db: Database, listed: Sequence[Run]) -> Mapping[str, Figures]:
    """The id of each Run that is held or in progress -> its figures."""
    with db.reading() as reader:
        return {
            run["id"]: figures(reader, run)
            for run in listed
            if run["status"] in {"held", "running"}
        }


def figures(reader: Reader, run: Run, facts: RunFacts | None = None) -> Figures:
    """The figures of one Run; `facts` are its own, from a caller who has read them already."""
    run_id = RunId(ids.raw_id(run["id"]))
    if run["status"] == "held":
        known = runs.facts(reader, run_id)[1] if facts is None else facts
        return Figures(would=known.get("would"))
    if run["status"] == "running":
        return Figures(so_far=progress.so_far(reader, run_id))
    return Figures()
