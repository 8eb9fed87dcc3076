"""The figures of Runs that have not changed the table: of held ones, and of those in progress.

`rowDeltas` of a Run are zeros until it is accepted, so they say nothing of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

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

_WITH_OUTPUT: Final = frozenset(("mass_loss", "credits"))
"""The rules that hold an output which a person may accept."""


class Figures(Struct, frozen=True):
    """What accepting a held Run would have done when it ended, and how far an open one has come.

    Each is None of Runs that have no such figure. `known` is whether what a held Run would have
    done is: a version before this one did not record it.
    """

    would: RowDeltas | None = None
    so_far: Progress | None = None
    known: bool = True


def all_figures(db: Database, listed: Sequence[Run]) -> Mapping[str, Figures]:
    """The id of each Run that is held or in progress -> its figures."""
    with db.reading() as reader:
        return {
            run["id"]: figures(reader, run)
            for run in listed
            if run["status"] in {"held", "running"}
        }


def figures(
    reader: Reader, run: Run, recorded: tuple[Mapping[str, Any], RunFacts] | None = None
) -> Figures:
    """The figures of one Run; `recorded` are its stop and facts, from a caller who has them."""
    run_id = RunId(ids.raw_id(run["id"]))
    if run["status"] == "held":
        stop, facts = runs.facts(reader, run_id) if recorded is None else recorded
        would = facts.get("would")
        # Where a limit ended a Run nothing was compared, and nothing can be accepted.
        return Figures(would, known=would is not None or stop.get("rule") not in _WITH_OUTPUT)
    if run["status"] == "running":
        return Figures(so_far=progress.so_far(reader, run_id))
    return Figures()
