"""The Runs of a dataset: how each ended, and a new one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Final

from flask import g, redirect, request
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.messages.run_end import cause_first, read_so_far
from livedata.model import ids
from livedata.model.errors import Conflict, InsufficientCredits
from livedata.model.ids import DatasetId
from livedata.pages.answers import page, sentences
from livedata.pages.markup.plot import plot, share
from livedata.pages.paging import cursor, next_page, page_ahead, place_of
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries, runs
from livedata.services.pages.history import earlier_runs, of_table, run_ahead
from livedata.services.run_report import Figures, all_figures

ON_A_PAGE: Final = 30


@at_one_moment
def show(dataset: str, refusal: str = "", status: int = 200) -> Response:
    """The page of the Runs of a dataset; with a refusal, if a Run was asked for and not queued."""
    raw, store, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    shown = queries.dataset(store, owner, raw)
    # One more than is shown tells whether there are more.
    listed = earlier_runs(store, owner, raw, ON_A_PAGE + 1, cursor(request.args))
    kept = [run for run, _ in listed[:ON_A_PAGE]]
    ends = [end for _, end in listed[:ON_A_PAGE]]
    figures = all_figures(g.db, kept)
    more = next_page(kept[-1]["queuedAt"], kept[-1]["id"]) if len(listed) > len(kept) else None
    first = place_of(kept[0]["queuedAt"], kept[0]["id"]) if kept else cursor(request.args)
    took = {end.run: end.seconds for end in ends if end.seconds is not None}
    longest = round(max(took.values(), default=0) * 1000)
    ahead = partial(run_ahead, g.db, owner, raw)
    return page(
        "runs.html",
        data=lambda: {"data": kept, "ends": ends, "figures": figures},
        status=status,
        dataset=shown,
        runs=kept,
        figures=figures,
        read_so_far=read_so_far,
        brief=cause_first,
        took=took,
        bars={run: share(round(seconds * 1000), longest) for run, seconds in took.items()},
        counts={end.run: end.rows for end in ends if end.rows is not None},
        has_why=any(run["error"] or _has_read(figures, run["id"]) for run in kept),
        back_of={end.run: end.back for end in ends if end.back},
        drawn=plot(of_table(ends), floor=0),
        more=more,
        back=page_ahead(first, ON_A_PAGE, ahead),
        refusal=refusal,
    )


def _has_read(figures: Mapping[str, Figures], run: str) -> bool:
    """Whether a Run is open and has said how far it has come."""
    return run in figures and figures[run].so_far is not None


def run_now(dataset: str) -> Response:
    """Queue a Run."""
    try:
        run, _ = runs.enqueue(context().store, g.caller.owner, DatasetId(identified(dataset)))
    except (Conflict, InsufficientCredits) as error:
        return show(dataset, sentences(error), 409)
    return redirect(f"/runs/{ids.format_uuid(ids.raw_id(run))}", 303)
