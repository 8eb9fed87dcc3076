"""What is new: over all datasets, since the last visit or in the days that a person chooses.

The list of the datasets begins with the first of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from flask import Response, g, request
from msgspec import Struct

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.pages.answers import page, wants_json
from livedata.pages.last_visit import FIRST_DAYS, BrowserVisit, begin_of_day, day_of, visit_now
from livedata.pages.paging import address, malformed, passed_over
from livedata.pages.row_lines import RowLine, labels_by_name, longest_text, row_line
from livedata.pages.visits import at_one_moment, context
from livedata.services.moments import end_of_day
from livedata.services.whats_new import Bounds, DatasetNews, NewsPage, Period, news

BOUNDS: Final = Bounds(datasets=50, revisions=1_000, rows=120, rows_of_each=20)
"""A page takes a tenth of a second and weighs about 100 KB, however much has changed."""
FIRST: Final = Bounds(datasets=8, revisions=800, rows=24, rows_of_each=4)
"""So much of it stands above the list of the datasets, which is to be in sight."""


class Told(Struct, frozen=True):
    """What is new of some datasets with the lines of each, and how long a text may be in them.

    `history` is what leads from the changes of a dataset to those of the same time.
    """

    news: NewsPage
    lines: Mapping[str, Sequence[RowLine]]
    longest: int
    since: str
    history: str


class Chosen(Struct, frozen=True):
    """The period that a person chooses, and its days; without days, since the last visit."""

    period: Period
    since: str = ""
    until: str = ""


@at_one_moment
def show() -> Response:
    """The page of what is new."""
    owner, now, zone = g.caller.owner, ids.now(), context().zone
    visit = visit_now(owner, now, zone)
    chosen = _chosen(request.args, visit, zone)
    passed = passed_over(request.args)
    told = _told(chosen.period, news(g.db, owner, chosen.period, BOUNDS, passed))
    further = address(after=str(told.news.passed)) if told.news.following else None
    answer = page(
        "news.html",
        data=lambda: {"data": [each.as_json for each in told.news.datasets]},
        told=told,
        chosen=chosen,
        visit=visit,
        windows=_windows(day_of(now, zone)),
        more=further,
    )
    if not wants_json():
        visit.keep(answer, owner)
    return answer


def first_news(visit: BrowserVisit) -> Told:
    """The first of what is new since the last visit, of what changed last."""
    period = Period(visit.since)
    return _told(period, news(g.db, g.caller.owner, period, FIRST, rows_alone=True))


def _told(period: Period, new: NewsPage) -> Told:
    lines = {each.dataset["id"]: _lines(each) for each in new.datasets}
    longest = longest_text(line for every in lines.values() for line in every)
    ends = {"since": period.since, "until": period.until}
    given = {name: ids.format_timestamp(end) for name, end in ends.items() if end is not None}
    return Told(new, lines, longest, ids.format_timestamp(period.since), f"?{urlencode(given)}")


def _lines(each: DatasetNews) -> list[RowLine]:
    labels = labels_by_name(each.dataset)
    return [row_line(row.named, labels, is_unseen=row.is_unseen) for row in each.rows]


def _chosen(given: Mapping[str, str], visit: BrowserVisit, zone: str) -> Chosen:
    """What the address of the page asks for. Raises BadRequest."""
    since, until = (_day(given, name) for name in ("since", "until"))
    if since is None and until is None:
        return Chosen(Period(visit.since))
    begin = Micros(0) if since is None else begin_of_day(since, zone)
    end = None if until is None else end_of_day(until.isoformat(), zone)
    if end is not None and end > visit.looked:  # a day that is not over
        end = None
    seen = None if visit.is_first else visit.since
    return Chosen(Period(begin, end, seen), _written(since), _written(until))


def _day(given: Mapping[str, str], name: str) -> date | None:
    day = given.get(name)
    if not day:
        return None
    try:
        return datetime.strptime(day, "%Y-%m-%d").date()  # noqa: DTZ007  (a day has no zone)
    except ValueError as error:
        raise malformed(name, "is no day, such as 2026-01-31", "what is new") from error


def _written(day: date | None) -> str:
    return "" if day is None else day.isoformat()


def _windows(today: date) -> list[tuple[str, str, str]]:
    """What leads to the other windows: its words, its first day, and its address."""
    days = {"Since yesterday": 1, f"The last {FIRST_DAYS} days": FIRST_DAYS - 1}
    begins = {words: (today - timedelta(days=back)).isoformat() for words, back in days.items()}
    return [
        ("Since the last visit", "", request.path),
        *((words, begin, f"{request.path}?since={begin}") for words, begin in begins.items()),
    ]
