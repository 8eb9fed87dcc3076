"""What is new: over all datasets, since the last visit or in the days that a person chooses.

The list of the datasets begins with the first of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import g, request
from msgspec import Struct
from msgspec.structs import replace
from werkzeug.wrappers import Response

from livedata.model import ids
from livedata.model.dataset import Column, ColumnType, columns_by_name
from livedata.model.ids import Micros, OwnerName, format_uuid
from livedata.model.row import Scalar
from livedata.model.row_name import RowName
from livedata.pages.answers import page, wants_json
from livedata.pages.paging import address, back_by, malformed, passed_over
from livedata.pages.visits import YEAR, at_one_moment, context, remember
from livedata.services.moments import CellDiff, NamedDiff, end_of_day
from livedata.services.whats_new import Bounds, DatasetNews, NewsPage, Period, news

WHILE: Final = Micros(30 * 60 * 1_000_000)
"""After so long without a look, the next one is another visit, in microseconds."""
FIRST_DAYS: Final = 7
"""A browser that was never here is shown so many days."""
_DIGITS: Final = 17
_DAYS: Final = {-1: "tomorrow", 0: "today", 1: "yesterday"}
"""How many days ago a day is -> what it is called."""


class BrowserVisit(Struct, frozen=True):
    """A visit and its last look: all before `since` was seen on an earlier one.

    On the first one nothing was seen, and `since` is some days ago.
    """

    since: Micros
    looked: Micros
    is_first: bool

    def keep(self, answer: Response, owner: OwnerName) -> None:
        """Let the browser keep it."""
        remember(answer, f"{self.since}.{self.looked}", seconds=YEAR, name=cookie_name(owner))


def visit_now(owner: OwnerName, now: Micros, zone: str) -> BrowserVisit:
    """The visit of a look now: the one that this browser keeps if it lasts, else the next."""
    first = begin_of_day(day_of(now, zone) - timedelta(days=FIRST_DAYS - 1), zone)
    kept = _kept(owner, now)
    if kept is None:
        return BrowserVisit(first, now, is_first=True)
    since, looked = kept
    if now - looked > WHILE:
        return BrowserVisit(looked, now, is_first=False)
    return BrowserVisit(since, now, is_first=since == first)


def local_time(moment: Micros, zone: str) -> datetime:
    """A moment as the calendar and the clock of a zone show it."""
    local: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    return ids.to_datetime(moment).astimezone(local)


def day_of(moment: Micros, zone: str) -> date:
    """The day of a moment in a zone."""
    return local_time(moment, zone).date()


def said(timestamp: str, zone: str) -> str:
    """A moment as a clock of a zone says it, such as "today 14:05": where no markup may stand."""
    then, now = (
        local_time(each, zone) for each in (Micros(ids.parse_timestamp(timestamp)), ids.now())
    )
    days = (now.date() - then.date()).days
    if days in _DAYS:
        return f"{_DAYS[days]} {then:%H:%M}"
    if then.year == now.year:
        return f"{then:%a} {then.day} {then:%b %H:%M}"
    return f"{then.day} {then:%b %Y %H:%M}"


def begin_of_day(day: date, zone: str) -> Micros:
    """The moment at which a day begins: the end of the one before it."""
    if day == date.min:
        return Micros(0)
    return Micros(max(0, end_of_day((day - timedelta(days=1)).isoformat(), zone) or 0))


def _kept(owner: OwnerName, now: Micros) -> tuple[Micros, Micros] | None:
    """Since when the last visit of an owner by this browser told, and its last look."""
    parts = request.cookies.get(cookie_name(owner), "").split(".")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdigit() and len(part) < _DIGITS for part in parts
    ):
        return None
    since, looked = (Micros(int(part)) for part in parts)
    # A clock that was ahead when it was kept would hide what is new until then.
    return (since, looked) if since <= looked <= now else None


def cookie_name(owner: OwnerName) -> str:
    """The name of the cookie of an owner's last visit."""
    # The name of an owner may have characters that no cookie has.
    return f"livedata-seen-{hashlib.sha256(owner.encode()).hexdigest()[:12]}"


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
        back=back_by(BOUNDS.datasets),
    )
    if not wants_json():
        visit.keep(answer, owner)
    return answer


def first_news(visit: BrowserVisit) -> Told:
    """The first of what is new since the last visit, of what changed last."""
    period = Period(visit.since)
    return _told(period, news(g.db, g.caller.owner, period, FIRST, rows_alone=True))


def _told(period: Period, new: NewsPage) -> Told:
    # What is new as a whole is told in a line, below what has changed.
    order = sorted(new.datasets, key=lambda each: each.is_new_table)
    new = replace(new, datasets=order)
    lines = {each.dataset["id"]: _lines(each) for each in order if not each.is_new_table}
    longest = longest_text(line for every in lines.values() for line in every)
    ends = {"since": period.since, "until": period.until}
    given = {name: ids.format_timestamp(end) for name, end in ends.items() if end is not None}
    return Told(new, lines, longest, ids.format_timestamp(period.since), f"?{urlencode(given)}")


def _lines(each: DatasetNews) -> list[RowLine]:
    columns = columns_by_name(each.dataset["columns"])
    return [row_line(row.named, columns, is_unseen=row.is_unseen) for row in each.rows]


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


CELLS_OF_A_ROW: Final = 4
"""So many cells of a row are told."""
_CHARACTERS: Final = 24_000
"""About so many have all cells of a page: the more there are, the less is told of each."""
_WHOLE: Final = ("new", "gone")
"""Of rows of these kinds the cells are told, and not what changed in them."""
_SHORTEST_TEXT, _LONGEST_TEXT = 24, 200


class CellLine(NamedTuple):
    """A cell that changed: the label and the type of its column, and its two values."""

    label: str
    type: ColumnType
    diff: CellDiff


class RowLine(Struct, frozen=True):
    """What became of a row, and its first cells; `left_out` have no place here.

    `met` says what of a condition it meets.
    """

    row: str
    name: RowName
    kind: str
    cells: Sequence[CellLine]
    left_out: int
    is_unseen: bool = False
    met: Sequence[str] = ()


def row_line(
    named: NamedDiff, columns: Mapping[str, Column], *, is_unseen: bool = False
) -> RowLine:
    """The line of a row."""
    line = line_of(format_uuid(named.row), named.name, named.diff, columns, named.last)
    return replace(line, is_unseen=is_unseen)


def line_of(
    row: str,
    name: RowName,
    change: Mapping[str, Any],
    columns: Mapping[str, Column],
    last: Mapping[str, Scalar],
) -> RowLine:
    """The line of a change: its kind, and the cells that it changed by the names of columns.

    Of a row that is gone the cells are the `last` ones.
    """
    told: Mapping[str, CellDiff] = change["changed"]
    if change["kind"] == "gone":
        told = {column: CellDiff(before=None, after=value) for column, value in last.items()}
        told = {column: cell for column, cell in told.items() if cell["after"] is not None}
    cells = [
        CellLine(columns[column]["label"], columns[column]["type"], cell)
        for column, cell in told.items()
        # What names a row of which all cells are told stands there already.
        if change["kind"] not in _WHOLE or cell["after"] not in {name.name, name.key}
    ]
    left_out = max(0, len(cells) - CELLS_OF_A_ROW)
    return RowLine(row, name, change["kind"], cells[:CELLS_OF_A_ROW], left_out)


def longest_text(lines: Iterable[RowLine]) -> int:
    """How many characters of a text are shown in these lines, which are all those of a page."""
    cells = sum(len(line.cells) for line in lines)
    return min(_LONGEST_TEXT, max(_SHORTEST_TEXT, _CHARACTERS // max(1, 2 * cells)))
