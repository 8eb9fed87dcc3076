"""The datasets of an owner: how each is doing, at a glance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flask import Response, g, request
from markupsafe import Markup
from msgspec import Struct

from livedata.hints import Subject, Try, tries
from livedata.messages.run_end import SKIPPED
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Remedy
from livedata.pages.answers import page
from livedata.pages.markup.plot import sparkline, strip
from livedata.pages.paging import cursor, next_page
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.fires import next_fires, skipping
from livedata.services.pages.history import last_ends, of_table
from livedata.store.database.store import Database
from livedata.store.schedules import NO_CREDITS
from livedata.store.shown_runs import NotAccepted, RunEnd, not_accepted

STRIP: Final = 30
"""So many of the last Runs of a dataset are shown by their end."""
ON_A_PAGE: Final = 25


class Skipped(Struct, frozen=True):
    """How many of the last fires of a dataset queued no Run, the moment of the last, and why."""

    fires: int
    last: str
    why: str
    tries: Sequence[Try]


class Summary(Struct, frozen=True):
    """A dataset with its next fire, its last Runs, newest first, and how both look over time.

    `not_accepted` is the last Run that is over, if its output was not accepted.
    """

    dataset: Dataset
    next_fire: str | None
    skipped: Skipped | None
    runs: Sequence[RunEnd]
    not_accepted: NotAccepted | None
    strip: Markup
    drawn: Markup | None

    @property
    def as_json(self) -> Mapping[str, object]:
        """The dataset as the API has it, with its next fire and its last Runs."""
        fires = {"nextRunAt": self.next_fire, "skipped": self.skipped}
        return {**self.dataset, **fires, "lastRuns": self.runs}

    @property
    def changing(self) -> RunEnd | None:
        """The last of these Runs that changed something."""
        return next((run for run in self.runs if run.changes), None)

    @property
    def older_since(self) -> str | None:
        """Since when its rows are older than the last Run that is over; None if they are not."""
        return None if self.not_accepted is None else ids.format_timestamp(self.not_accepted.at)


@at_one_moment
def show() -> Response:
    """The page of all datasets."""
    shared, owner = context(), g.caller.owner
    # One more than is shown tells whether there are more.
    listed = queries.datasets(g.db, owner, ON_A_PAGE + 1, cursor(request.args))
    shown = listed[:ON_A_PAGE]
    fires = next_fires(g.db, owner, shared.zone)
    skipped = skipped_fires(g.db, owner)
    with g.db.reading() as reader:
        refused = not_accepted(reader, owner)
    ends = last_ends(g.db, owner, [_raw(dataset) for dataset in shown], STRIP)
    summaries = [
        Summary(
            dataset,
            ids.format_optional_timestamp(fires.get(_raw(dataset))),
            skipped.get(_raw(dataset)),
            runs,
            refused.get(_raw(dataset)),
            strip(runs),
            sparkline(of_table(runs)),
        )
        for dataset, runs in zip(shown, ends, strict=True)
    ]
    more = next_page(shown[-1]["createdAt"], shown[-1]["id"]) if len(listed) > len(shown) else None
    return page(
        "datasets.html",
        data=lambda: {"data": [summary.as_json for summary in summaries]},
        summaries=summaries,
        more=more,
    )


def skipped_fires(db: Database, owner: OwnerName) -> Mapping[DatasetId, Skipped]:
    """The datasets of an owner whose schedules queue no Run at the moment."""
    return {
        dataset: Skipped(
            each.count,
            ids.format_timestamp(each.last),
            # A reason that only another version knows is shown as it is.
            SKIPPED.get(each.reason, each.reason),
            tries([Remedy("grant_credits")], Subject(owner)) if each.reason == NO_CREDITS else (),
        )
        for dataset, each in skipping(db, owner).items()
    }


def _raw(dataset: Dataset) -> DatasetId:
    return DatasetId(ids.raw_id(dataset["id"]))
