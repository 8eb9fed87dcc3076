"""The datasets of an owner: how each is doing, at a glance, and what all of them have of a text."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from flask import Response, g, request
from markupsafe import Markup
from msgspec import Struct

from livedata.hints import Subject, Try, tries
from livedata.messages.run_end import SKIPPED
from livedata.model import ids
from livedata.model.dataset import Dataset
from livedata.model.ids import DatasetId, OwnerName
from livedata.model.problem import Remedy
from livedata.pages.answers import page, wants_json
from livedata.pages.markup.plot import sparkline, strip
from livedata.pages.news import BrowserVisit, Told, first_news, visit_now
from livedata.pages.paging import (
    address,
    back_by,
    malformed,
    name_before,
    passed_over,
)
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.fires import Timetable, next_fires, skipping
from livedata.services.pages.history import last_ends, of_table
from livedata.services.pages.search import DATASETS as MOST_SEARCHED
from livedata.services.pages.search import DatasetSearch, examples, search
from livedata.services.whats_new import Troubled, troubled
from livedata.store.database.store import Database
from livedata.store.schedules import NO_CREDITS
from livedata.store.shown_runs import RunEnd

STRIP: Final = 30
"""So many of the last Runs of a dataset are shown by their end."""
BARS: Final = 12
"""So many of them are a bar in the list: each is a link, and the list is long."""
ON_A_PAGE: Final = 20
IN_SIGHT: Final = 8
"""So many of them stand above what is new, a third of a screen; the others open below these."""
LONGEST_SEARCH: Final = 200
CARDS: Final = 3
"""So many datasets in trouble are told with the reason; others by name."""
NAMED: Final = 50
"""So many others; of all the others how many there are."""


class Skipped(Struct, frozen=True):
    """How many of the last fires of a dataset queued no Run, the moment of the last, and why."""

    fires: int
    last: str
    why: str
    tries: Sequence[Try]


class Summary(Struct, frozen=True):
    """A dataset with its next fire, its last Runs, newest first, and how both look over time."""

    dataset: Dataset
    next_fire: str | None
    skipped: Skipped | None
    runs: Sequence[RunEnd]
    strip: Markup
    drawn: Markup | None

    @property
    def as_json(self) -> Mapping[str, object]:
        """The dataset as the API has it, with its next fire and its last Runs."""
        fires = {"nextRunAt": self.next_fire, "skipped": self.skipped}
        return {**self.dataset, **fires, "lastRuns": self.runs}

    @property
    def accepted(self) -> RunEnd | None:
        """The last of these Runs that was accepted."""
        return next((run for run in self.runs if run.rows is not None), None)

    @property
    def changing(self) -> RunEnd | None:
        """The last of these Runs that changed something."""
        return next((run for run in self.runs if run.changes), None)


@at_one_moment
def show() -> Response:
    """The page of all datasets: those in trouble, each in a line, and the first of what is new."""
    owner, zone, after = g.caller.owner, context().zone, name_before(request.args)
    # One more than is shown tells whether there are more.
    listed = queries.datasets_by_name(g.db, owner, ON_A_PAGE + 1, after)
    shown = listed[:ON_A_PAGE]
    more = address(after=shown[-1]["name"]) if len(listed) > len(shown) else None
    summaries = _summaries(shown)
    if after:
        first = shown[0]["name"] if shown else after
        # It begins behind the name that stands one further ahead than it has places.
        ahead = queries.dataset_ahead(g.db, owner, first, ON_A_PAGE + 1)
        return _page(summaries, more, back=address(after=ahead))
    visit = visit_now(owner, ids.now(), zone)
    told, troubles = first_news(visit), troubled(g.db, owner)
    answer = _page(summaries, more, told, visit, troubles)
    if not wants_json():
        visit.keep(answer, owner)
    return answer


@at_one_moment
def search_all() -> Response:
    """The page of what all datasets have of a text."""
    text = request.args.get("q", "").strip()
    if len(text) > LONGEST_SEARCH:
        raise malformed("q", f"is longer than {LONGEST_SEARCH} characters", "the search")
    passed = passed_over(request.args)
    nothing = DatasetSearch((), passed, has_more=False)
    told = search(g.db, g.caller.owner, text, passed) if text else nothing
    return page(
        "search.html",
        data=lambda: {"data": told.hits, "lookedThrough": told.passed - passed},
        text=text,
        told=told,
        passed=passed,
        less=_less(text),
        examples=() if text else examples(g.db, g.caller.owner),
        more=address(after=str(told.passed)) if told.has_more else None,
        back=back_by(MOST_SEARCHED),
    )


def _less(text: str) -> str:
    """A part of a text that may be found where the whole is not: its longest word, or that cut."""
    word = max(text.split(), key=len, default="")
    return word if word != text else word[: max(1, 2 * len(word) // 3)]


def _page(
    summaries: Sequence[Summary],
    more: str | None,
    told: Told | None = None,
    visit: BrowserVisit | None = None,
    troubles: Sequence[Troubled] = (),
    back: str | None = None,
) -> Response:
    news = [] if told is None else [each.as_json for each in told.news.datasets]
    return page(
        "datasets.html",
        data=lambda: {"data": [each.as_json for each in summaries], "news": news},
        summaries=summaries,
        # For one or two more nobody is asked to open anything.
        in_sight=len(summaries) if told is None or len(summaries) < IN_SIGHT + 3 else IN_SIGHT,
        troubled=troubles[:CARDS],
        held={
            each.dataset: each.trouble.run
            for each in troubles
            if each.trouble.newer and each.trouble.status == "held"
        },
        also_troubled=troubles[CARDS : CARDS + NAMED],
        number_troubled=len(troubles),
        told=told,
        visit=visit,
        more=more,
        back=back,
    )


def _summaries(shown: Sequence[Dataset]) -> list[Summary]:
    owner, those = g.caller.owner, [_raw(dataset) for dataset in shown]
    fires, skipped = next_fires(g.db, those, context().zone), skipped_fires(g.db, owner, those)
    ends = last_ends(g.db, owner, those, STRIP)
    return [
        Summary(
            dataset,
            ids.format_optional_timestamp(fires.get(_raw(dataset))),
            skipped.get(_raw(dataset)),
            runs,
            strip(runs[:BARS]),
            sparkline(of_table(runs)),
        )
        for dataset, runs in zip(shown, ends, strict=True)
    ]


def skipped_fires(
    db: Database, owner: OwnerName, those: Collection[DatasetId]
) -> Mapping[DatasetId, Skipped]:
    """Those of these datasets of an owner whose schedules queue no Run at the moment."""
    return {
        dataset: Skipped(
            each.count,
            ids.format_timestamp(each.last),
            # A reason that only another version knows is shown as it is.
            SKIPPED.get(each.reason, each.reason),
            tries([Remedy("grant_credits")], Subject(owner)) if each.reason == NO_CREDITS else (),
        )
        for dataset, each in skipping(db, owner, those).items()
    }


def fires_shown(planned: Timetable) -> dict[str, Any]:
    """The next fires, and those that were skipped, each with its reason."""
    return {
        "upcoming": [ids.format_timestamp(fire) for fire in planned.upcoming],
        "skipped": [
            (ids.format_timestamp(fire.fired_at), SKIPPED.get(fire.reason, fire.reason))
            for fire in planned.skipped
        ],
    }


def _raw(dataset: Dataset) -> DatasetId:
    return DatasetId(ids.raw_id(dataset["id"]))
