"""All that a person is shown of a Run, and the figures of those that have not changed the table.

`rowDeltas` of a Run are zeros until it is accepted, so they say nothing of a Run that is held or in
progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from livedata.messages.render import statement
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import RunId
from livedata.model.problem import Problem
from livedata.model.run import RowDeltas, Run
from livedata.services.kinds import choice as kinds
from livedata.services.run_progress import RunProgress, run_progress
from livedata.services.run_view import RunView
from livedata.store import accounts, runs, shown_runs
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.store import Database
from livedata.store.shown_runs import Progress

if TYPE_CHECKING:
    from livedata.model.research.answers import CallUsage

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


class RunReport(Struct, frozen=True):
    """A Run with everything it stored at its end, for a person.

    `calls` has what each call of a model or a search took; None if the dataset is not of research.
    `output_kept` is whether it is held with an output that may be accepted. `progress` is None
    once it is over.
    """

    run: Run
    stop: dict[str, Any]
    problem: Problem | None
    facts: RunFacts
    charged: int
    columns: list[Column]
    name: str
    calls: list[CallUsage] | None
    figures: Figures
    output_kept: bool
    progress: RunProgress | None

    @property
    def why(self) -> str | None:
        """What it says of itself, without the advice to accept an output that is not kept."""
        if self.run["status"] != "held" or self.output_kept or self.problem is None:
            return self.run["error"]
        return statement(self.problem)


def report(view: RunView) -> RunReport:
    """All of a Run that a person is shown, for when the transaction has ended."""
    return RunReport(
        run=view.run,
        stop=view.stop,
        problem=view.problem,
        facts=view.facts,
        charged=accounts.charged(view.reader, view.id),
        columns=view.dataset["columns"],
        name=view.dataset["name"],
        calls=_calls(view),
        figures=figures_of(view),
        output_kept=view.output is not None,
        progress=run_progress(view.reader, view.id),
    )


def _calls(view: RunView) -> list[CallUsage] | None:
    try:
        kind = kinds.of_source(view.source)
    except SYMPTOMS:
        # The Run may have ended just because of this damage, and is to be shown.
        return None
    return kind.calls(view)


def figures_of(view: RunView) -> Figures:
    """What a held Run would change, and how far one in progress has come."""
    recorded = figures(view.reader, view.run, (view.stop, view.facts))
    if recorded.known or view.output is None:
        return recorded
    # Imported here because almost every Run has recorded it, and comparing needs a lot.
    from livedata.services.kept_output import kept_output

    kept = kept_output(view.reader, view.ref, view.row.recipe_version, view.output)
    new, changed, gone = kept.proposal.deltas
    return Figures(would={"new": new, "changed": changed, "gone": gone})


def all_figures(db: Database, listed: Sequence[Run]) -> Mapping[str, Figures]:
    """The id of each Run that is held or in progress -> its figures."""
    with db.reading() as reader:
        return {
            run["id"]: figures(reader, run)
            for run in listed
            if run["status"] in {"held", "running"}
        }


def count_oddities(db: Database, listed: Sequence[Run]) -> dict[str, int]:
    """The id of each Run in which something looked odd -> how many things did."""
    with db.reading() as reader:
        odd = {
            run["id"]: runs.facts(reader, RunId(ids.raw_id(run["id"])))[1].get("odd", [])
            for run in listed
        }
    return {run: len(facts) for run, facts in odd.items() if facts}


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
        return Figures(so_far=shown_runs.progress_so_far(reader, run_id))
    return Figures()
