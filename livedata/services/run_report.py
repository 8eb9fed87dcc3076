"""All that a person is shown of a Run: how it gets on, and the figures of what it did or would do.

`rowDeltas` of a Run are zeros until it is accepted, so they say nothing of a Run that is held or in
progress.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct

from livedata.messages.render import statement
from livedata.messages.run_end import waiting_sentence
from livedata.model import ids
from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import RunId, format_timestamp
from livedata.model.problem import Problem
from livedata.model.run import RowDeltas, Run
from livedata.services.kinds import choice as kinds
from livedata.services.leases import is_live
from livedata.services.run_view import RunView
from livedata.store import accounts, queue, runs, shown_runs
from livedata.store.database.backend import SYMPTOMS, Reader
from livedata.store.database.store import Database
from livedata.store.queue import OpenRun
from livedata.store.shown_runs import Progress

if TYPE_CHECKING:
    from livedata.model.research.answers import CallUsage

WaitCode: TypeAlias = Literal[
    "worker", "retry", "turn", "place", "other_site", "lost", "cancelling", "cancelling_lost"
]

_WITH_OUTPUT: Final = frozenset(("mass_loss", "credits"))
"""The rules that hold an output which a person may accept."""


class RunWait(Struct, frozen=True):
    """What a Run waits for: a code, and a sentence for a person."""

    code: WaitCode
    sentence: str


class RunProgress(Struct, frozen=True):
    """A Run that is queued or running, and since when.

    `seconds` have gone by since then; `waits` is None of one that reads its pages. While it is
    queued, so many Runs of its site wait `longer`.
    """

    since: str
    seconds: float
    so_far: Progress | None
    waits: RunWait | None
    cancelling: bool
    longer: int


def run_progress(reader: Reader, run: RunId) -> RunProgress | None:
    """How a Run gets on; None if it is over."""
    waits = queue.open_by_id(reader, run)
    if waits is None:
        return None
    since = waits.started
    if waits.status == "queued" or since is None:
        since = waits.queued
    code = _waits_for(reader, waits)
    # No less than nothing, whatever the clock does.
    gone = max(0, reader.now() - since)
    return RunProgress(
        format_timestamp(since),
        gone / 1_000_000,
        shown_runs.progress_so_far(reader, run) if waits.status == "running" else None,
        None if code is None else _told(code, queue.site(reader, run), waits.attempt),
        waits.cancelling,
        shown_runs.waiting_longer(reader, run) if waits.status == "queued" else 0,
    )


def _told(code: WaitCode, site: str, attempt: int) -> RunWait:
    return RunWait(code, waiting_sentence(code, site, attempt))


def _waits_for(reader: Reader, run: OpenRun) -> WaitCode | None:
    if run.status == "running":
        return _holds_up(reader, run)
    site = queue.site(reader, run.id)
    if queue.is_busy(reader, site):
        return "turn"
    waits = queue.next_beside(reader, run.id)
    if waits is not None and waits.id != run.id:
        return "place"
    return "retry" if run.attempt else "worker"


def _holds_up(reader: Reader, run: OpenRun) -> WaitCode | None:
    """What keeps a Run in progress from reading on."""
    live = is_live(reader, run.lease)
    if run.cancelling:
        return "cancelling" if live else "cancelling_lost"
    if not live:
        return "lost"
    # It gives its turn up while it waits for that of another site.
    return "other_site" if queue.turn(reader, run.id) is None else None


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
