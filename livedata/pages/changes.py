"""The history of a dataset: what changed, when, and by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby
from typing import Final

from flask import g, redirect, request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.api.queries import identified
from livedata.messages.notice_events import BECAME
from livedata.model import ids
from livedata.model.dataset import labels
from livedata.model.errors import BadRequest, Invalid
from livedata.model.ids import DatasetId, Micros, RunId
from livedata.model.row import Change
from livedata.pages.answers import page
from livedata.pages.news import begin_of_day, day_of, local_time
from livedata.pages.paging import address, malformed
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.moments import end_of_day
from livedata.services.notices import feeds
from livedata.services.pages.history import History, Narrowing, history, written_between

FOLDED: Final = 8
"""So many rows that came at once stand in one line, which opens to all of them."""


class Occasion(Struct, frozen=True):
    """Changes that were written at once, by a Run or by hand, and what the clock showed."""

    clock: str
    changes: Sequence[Change]

    @property
    def are_all_new(self) -> bool:
        """Whether they are many new rows and nothing else: those of a first Run, mostly."""
        kinds = {change["kind"] for change in self.changes}
        return kinds == {"created"} and len(self.changes) >= FOLDED


class ChangedDay(Struct, frozen=True):
    """The changes of a day that a page shows, newest first; and of how many there are in all.

    `count` is None where only some changes are asked for.
    """

    day: date
    words: str
    occasions: Sequence[Occasion]
    count: int | None

    @property
    def kinds(self) -> Mapping[str, int]:
        """What became of the rows that are shown, and of how many."""
        shown = [BECAME[change["kind"]] for each in self.occasions for change in each.changes]
        return Counter(shown)

    @property
    def shown(self) -> int:
        """How many changes are shown."""
        return sum(self.kinds.values())

    @property
    def before(self) -> date:
        """The day before: a comparison begins at its end."""
        return self.day - timedelta(days=1)


@at_one_moment
def show(dataset: str) -> Response:
    """The page of the changes of a dataset."""
    raw, store, owner = DatasetId(identified(dataset)), g.db, g.caller.owner
    shown = queries.dataset(store, owner, raw)
    wanted = narrowing(request.args)
    told = history(store, owner, raw, wanted)
    return page(
        "changes.html",
        data=lambda: {"data": told.changes},
        dataset=shown,
        told=told,
        days=list(_days(raw, wanted, told, context().zone)),
        chips=_chips(wanted, told),
        zone=context().zone,
        columns=told.columns,
        kinds=BECAME,
        given=request.args,
        more=earlier(request.path, told.before),
        back=later(request.path, told),
        feed=_feed(raw, feeds.token(store, owner, raw)),
    )


def _days(dataset: DatasetId, wanted: Narrowing, told: History, zone: str) -> Iterator[ChangedDay]:
    """The changes of a page by their days, the newest first."""
    narrowed = wanted.run or wanted.field or wanted.kind
    today = day_of(ids.now(), zone)
    days = [
        (day, list(each))
        for day, each in groupby(told.changes, lambda change: _day_of(change, zone))
    ]
    for place, (day, changes) in enumerate(days):
        count: int | None = len(changes)
        if narrowed:
            count = None
        # Only the first and the last day of a page can go on beyond it.
        elif (place == 0 and not told.is_first) or (place == len(days) - 1 and told.before):
            begin, end = begin_of_day(day, zone), begin_of_day(day + timedelta(days=1), zone)
            count = written_between(g.db, g.caller.owner, dataset, begin, end)
        occasions = [
            Occasion(_clock(of_it[0], zone), of_it)
            for of_it in (list(each) for _, each in groupby(changes, _occasion))
        ]
        yield ChangedDay(day, _words(day, today), occasions, count)


def _day_of(change: Change, zone: str) -> date:
    return day_of(Micros(ids.parse_timestamp(change["createdAt"])), zone)


def _clock(change: Change, zone: str) -> str:
    """What a clock of the zone showed at a change."""
    return f"{local_time(Micros(ids.parse_timestamp(change['createdAt'])), zone):%H:%M}"


def _words(day: date, today: date) -> str:
    """A day as a heading has it."""
    near = {today: "Today, ", today - timedelta(days=1): "Yesterday, "}.get(day, "")
    year = f" {day.year}" if day.year != today.year else ""
    return f"{near}{day:%a} {day.day} {day:%b}{year}"


def _chips(wanted: Narrowing, told_by: History) -> list[tuple[str, str]]:
    """What the changes are narrowed to, in words, each with the address of the page without it."""
    given = request.args
    called = labels(told_by.columns.values())
    told = {
        "run": "of one Run" if wanted.run else "",
        "kind": f"only {BECAME[wanted.kind]}" if wanted.kind else "",
        "field": f"{called[wanted.field]} changed" if wanted.field else "",
        "since": f"since {given['since'][:10]}" if wanted.since else "",
        "until": f"until {given['until'][:10]}" if wanted.until else "",
    }
    return [
        (words, address(**{name: None, "before": None})) for name, words in told.items() if words
    ]


def _feed(dataset: DatasetId, token: str | None) -> str | None:
    """The whole address of the feed, as a feed reader takes it."""
    base = context().base(request.host, request.host_url)
    return None if token is None or base is None else feeds.addresses(base, dataset, token)["atom"]


def change_feed(dataset: str) -> Response:
    """Make the address of the feed of a dataset, or end it."""
    raw, store, owner = DatasetId(identified(dataset)), context().store, g.caller.owner
    if request.form.get("act") == "revoke":
        feeds.revoke(store, owner, raw)
    else:
        feeds.open_feed(store, owner, raw)
    return redirect(f"/datasets/{dataset}/changes#feed", 303)


def narrowing(given: Mapping[str, str]) -> Narrowing:
    """Which changes the address of a page asks for. Raises BadRequest."""
    field, kind, run = (given.get(name) or None for name in ("field", "kind", "run"))
    if kind not in {None, *BECAME}:
        raise _wrong("kind", f"is none of {', '.join(BECAME)}")
    before = given.get("before")
    if before is not None and not (before.isascii() and before.isdecimal() and len(before) < 19):
        raise _wrong("before", "is no number of a change")
    return Narrowing(
        run=None if run is None else RunId(_id_of_run(run)),
        field=field,
        kind=kind,
        since=_moment(given, "since"),
        until=_moment(given, "until"),
        before=None if before is None else int(before),
    )


def _id_of_run(run: str) -> bytes:
    try:
        return ids.raw_id(run)
    except ValueError as error:
        raise _wrong("run", "is no id of a Run") from error


def _moment(given: Mapping[str, str], name: str) -> Micros | None:
    """The begin of a day since which, or the end of a day until which changes are asked for."""
    day = given.get(name)
    if not day:
        return None
    try:
        if "T" in day:  # a moment, which another page leads to
            return Micros(ids.parse_timestamp(day))
        begin = begin_of_day(date.fromisoformat(day), context().zone)
        # All of the last day counts.
        return begin if name == "since" else end_of_day(day, context().zone)
    except (ValueError, OverflowError, Invalid) as error:
        raise _wrong(name, "is no day, such as 2026-01-31") from error


def _occasion(change: Change) -> tuple[str | None, ...]:
    """What wrote a change, and when: a Run writes all of its changes at once."""
    return change["runId"], change["actorId"], change["createdAt"]


def earlier(path: str, before: int | None) -> str | None:
    """The address of the page with the changes before this one."""
    return None if before is None else address(path, before=str(before))


def later(path: str, told: History) -> str | None:
    """The address of the page with the changes ahead of these."""
    if told.is_first:
        return None
    return address(path, before=None if told.ahead is None else str(told.ahead))


def _wrong(name: str, problem: str) -> BadRequest:
    return malformed(name, problem, "the changes")
