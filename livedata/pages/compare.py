"""Two moments of a table side by side: what became of its rows from the one to the other, net."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Final

from flask import Response, g, request
from msgspec import Struct

from livedata.api.queries import identified
from livedata.model import ids
from livedata.model.dataset import Column, columns_by_name
from livedata.model.errors import Invalid
from livedata.model.ids import DatasetId
from livedata.pages.answers import page, sentences
from livedata.pages.news import (
    FIRST_DAYS,
    RowLine,
    day_of,
    longest_text,
    row_line,
    said,
)
from livedata.pages.paging import address, back_by, passed_over
from livedata.pages.visits import at_one_moment, context
from livedata.services import queries
from livedata.services.moments import RowDiff, TableDiff, diff
from livedata.services.notices.gathering import KINDS
from livedata.services.pages.history import last_ends
from livedata.store.shown_runs import RunEnd

LOOKED_AT: Final = 5_000
"""The rows of so many last changes are looked at."""
ON_A_PAGE: Final = 100
_OFFERED: Final = 30
"""So many of the last Runs are offered as moments."""
_DAYS: Final = 14
"""So many days before today are."""
_SHOWN: Final = 40
"""So many characters of a moment that is typed are."""


class OfferedMoment(Struct, frozen=True):
    """A moment that can be chosen: what the address says of it, and what a person does."""

    value: str
    called: str


class Compared(Struct, frozen=True):
    """What became of the rows of a table, how many of each kind, and the lines of a page of them.

    They are `number` on all pages together, which are of one kind if the address names it.
    `lasting` is the address of the same two moments, which mean the same tomorrow; None if those
    of the page do already.
    """

    diff: TableDiff
    counts: Mapping[str, int]
    number: int
    rows: Sequence[RowDiff]
    lines: Sequence[RowLine]
    longest: int
    lasting: str | None


@at_one_moment
def show(dataset: str) -> Response:
    """The page that compares two moments of a dataset."""
    raw, owner, zone = DatasetId(identified(dataset)), g.caller.owner, context().zone
    shown = queries.dataset(g.db, owner, raw)
    since = _when("from") or _days_ago(FIRST_DAYS, zone)
    until, passed, refusal, compared = _when("to"), passed_over(request.args), "", None
    only = wanted if (wanted := _when("kind")) in KINDS else ""
    try:
        told = diff(g.db, owner, raw, since, until or None, zone, LOOKED_AT)
    except Invalid as error:
        refusal = sentences(error)
    else:
        compared = _compared(told, columns_by_name(shown["columns"]), passed, only)
    runs, days = _runs(raw, zone), _days(zone)
    called = {each.value: each.called for each in (*runs, *days)}
    return page(
        "compare.html",
        data=lambda: _as_json(compared),
        status=422 if refusal else 200,
        dataset=shown,
        given={"from": since, "to": until},
        compared=compared,
        runs=runs,
        days=days,
        called=called,
        strange={each: _strange(each) for each in (since, until) if each and each not in called},
        zone=zone,
        windows=_windows(zone),
        refusal=refusal,
        only=only,
        of_kind={kind: address(kind=kind, after=None) for kind in (*KINDS, "")},
        earlier=None if compared is None else _earlier(compared.diff),
        more=None if compared is None else _more(compared, passed),
        back=back_by(ON_A_PAGE),
    )


def _when(name: str) -> str:
    """What the address says of a moment, or of a kind; empty for nothing."""
    return request.args.get(name, "").strip()


def _compared(told: TableDiff, columns: Mapping[str, Column], passed: int, only: str) -> Compared:
    ordered = sorted(told.named, key=lambda each: KINDS.index(each.diff["kind"]))
    kinds = [each.diff["kind"] for each in ordered]
    if only:
        ordered = [each for each in ordered if each.diff["kind"] == only]
    rows = ordered[passed : passed + ON_A_PAGE]
    lines = [row_line(each, columns) for each in rows]
    # By sequences, since "now" and a day of today mean something else tomorrow.
    ends = {"from": str(told.since.sequence), "to": str(told.until.sequence)}
    moves = told.until.given == "now" or told.since.is_to_come or told.until.is_to_come
    return Compared(
        told,
        {kind: kinds.count(kind) for kind in KINDS},
        len(ordered),
        [each.diff for each in rows],
        lines,
        longest_text(lines),
        address(**{**ends, "after": None}) if moves else None,
    )


def _more(compared: Compared, passed: int) -> str | None:
    """The address of the rows that follow, None if none do."""
    following = passed + ON_A_PAGE
    is_last = compared.number <= following
    return None if is_last else address(after=str(following))


def _earlier(told: TableDiff) -> str | None:
    """The address of the same from the day before the first one, up to the same moment.

    None if the first is no day, or nothing had changed up to it.
    """
    if not told.since.is_day or not told.since.sequence:
        return None
    day = date.fromisoformat(told.since.given) - timedelta(days=1)
    return address(**{"from": day.isoformat(), "after": None})


def _as_json(compared: Compared | None) -> Mapping[str, object]:
    if compared is None:
        return {"data": []}
    told = compared.diff
    return {
        "data": compared.rows,
        "from": {"given": told.since.given, "sequence": told.since.sequence},
        "to": {"given": told.until.given, "sequence": told.until.sequence},
        "rowDeltas": compared.counts,
        "isExact": told.is_exact,
    }


def _runs(dataset: DatasetId, zone: str) -> list[OfferedMoment]:
    """The last Runs that were accepted, by when each left the table, and what it changed."""
    # Between two accepted Runs the source has changed nothing.
    (ends,) = last_ends(g.db, g.caller.owner, [dataset], _OFFERED)
    accepted = (end for end in ends if end.status == "succeeded")
    return [OfferedMoment(end.run, _called(end, zone)) for end in accepted]


def _called(end: RunEnd, zone: str) -> str:
    deltas = end.deltas
    kinds = {"new": deltas["new"], "changed": deltas["changed"] - end.back, "gone": deltas["gone"]}
    kinds["back"] = end.back
    changed = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items() if number)
    return f"{said(end.at, zone)} · accepted · {changed or 'nothing changed'}"


def _days(zone: str) -> list[OfferedMoment]:
    """The last days, of which each ends a moment."""
    today = day_of(ids.now(), zone)
    days = [today - timedelta(days=back) for back in range(1, _DAYS + 1)]
    names = list(map(_day_called, days))
    names[0] = f"yesterday, {names[0]}"
    return [OfferedMoment(*each) for each in zip(map(str, days), names, strict=True)]


def _day_called(day: date) -> str:
    return f"{day:%a} {day.day} {day:%b}"


def _strange(when: str) -> str:
    """What a moment is called that is none of those that are offered."""
    if when.isascii() and when.isdigit():
        return f"change {when[:_SHOWN]}"
    with suppress(ValueError):
        day = date.fromisoformat(when)
        # Those that are offered are near: of others the year is to be told.
        return f"{_day_called(day)} {day.year}"
    try:
        ids.raw_id(when)
    except ValueError:
        return when[:_SHOWN]
    return "another Run"


def _days_ago(days: int, zone: str) -> str:
    return (day_of(ids.now(), zone) - timedelta(days=days)).isoformat()


def _windows(zone: str) -> list[tuple[str, str]]:
    """What leads to now from an earlier day: its words, and the day before."""
    days = {"Since yesterday": 2, f"The last {FIRST_DAYS} days": FIRST_DAYS}
    return [(words, _days_ago(back, zone)) for words, back in days.items()]
