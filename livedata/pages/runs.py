"""The Runs of a dataset: how each ended, and a new one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flask import Blueprint, g, redirect, request
from markupsafe import Markup
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.model import ids
from livedata.model.errors import Conflict, InsufficientCredits
from livedata.model.ids import DatasetId
from livedata.model.run import Run
from livedata.pages.answers import page, sentences
from livedata.pages.markup.plot import Point, plot
from livedata.pages.paging import cursor, next_page
from livedata.pages.visits import context
from livedata.services import queries, runs
from livedata.services.browsing.history import earlier_runs, row_counts

ON_A_PAGE: Final = 30


def add_routes(routes: Blueprint) -> None:
    """The routes of the Runs of a dataset."""
    routes.add_url_rule("/datasets/<dataset>/runs", "runs", _runs, methods=["GET"])
    routes.add_url_rule("/datasets/<dataset>/runs", "run_now", _run_now, methods=["POST"])


def _runs(dataset: str, refusal: str = "", status: int = 200) -> Response:
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    shown = queries.dataset(store, owner, raw)
    # One more than is shown tells whether there are more.
    listed = earlier_runs(store, owner, raw, ON_A_PAGE + 1, cursor(request.args))
    kept = listed[:ON_A_PAGE]
    more = next_page(kept[-1]["queuedAt"], kept[-1]["id"]) if len(listed) > len(kept) else None
    counts = row_counts(store, kept)
    return page(
        "runs.html",
        data={"data": kept},
        status=status,
        dataset=shown,
        runs=kept,
        counts=counts,
        drawn=_drawn(kept, counts),
        more=more,
        refusal=refusal,
    )


def _drawn(listed: Sequence[Run], counts: Mapping[str, int]) -> Markup | None:
    """The rows over time, by the accepted Runs of the page; None if they are always as many."""
    points = [
        Point(run["completedAt"], counts[run["id"]])
        for run in reversed(listed)
        if run["id"] in counts and run["completedAt"] is not None
    ]
    return plot(points) if len({point.value for point in points}) > 1 else None


def _run_now(dataset: str) -> Response:
    try:
        run, _ = runs.enqueue(context().store, g.caller.owner, DatasetId(identified(dataset)))
    except (Conflict, InsufficientCredits) as error:
        return _runs(dataset, sentences(error), 409)
    return redirect(f"/runs/{ids.format_uuid(ids.raw_id(run))}", 303)
