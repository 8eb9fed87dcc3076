"""When a browser looked last at what is new: it keeps that itself, for each owner.

Who comes back within `WHILE` is still on the same visit, and is shown the same.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from flask import request
from msgspec import Struct
from werkzeug.wrappers import Response

from livedata.model import ids
from livedata.model.ids import Micros, OwnerName
from livedata.pages.visits import YEAR, remember
from livedata.services.moments import end_of_day

WHILE: Final = Micros(30 * 60 * 1_000_000)
"""After so long without a look, the next one is another visit, in microseconds."""
FIRST_DAYS: Final = 7
"""A browser that was never here is shown so many days."""
_DIGITS: Final = 17


class BrowserVisit(Struct, frozen=True):
    """A visit and its last look: all before `since` was seen on an earlier one.

    On the first one nothing was seen, and `since` is some days ago.
    """

    since: Micros
    looked: Micros
    is_first: bool

    def keep(self, answer: Response, owner: OwnerName) -> None:
        """Let the browser keep it."""
        remember(answer, f"{self.since}.{self.looked}", seconds=YEAR, name=_name(owner))


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


def day_of(moment: Micros, zone: str) -> date:
    """The day of a moment in a zone."""
    local: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    return ids.to_datetime(moment).astimezone(local).date()


def begin_of_day(day: date, zone: str) -> Micros:
    """The moment at which a day begins: the end of the one before it."""
    if day == date.min:
        return Micros(0)
    return Micros(max(0, end_of_day((day - timedelta(days=1)).isoformat(), zone) or 0))


def _kept(owner: OwnerName, now: Micros) -> tuple[Micros, Micros] | None:
    """Since when the last visit of an owner by this browser told, and its last look."""
    parts = request.cookies.get(_name(owner), "").split(".")
    if len(parts) != 2 or not all(
        part.isascii() and part.isdigit() and len(part) < _DIGITS for part in parts
    ):
        return None
    since, looked = (Micros(int(part)) for part in parts)
    # A clock that was ahead when it was kept would hide what is new until then.
    return (since, looked) if since <= looked <= now else None


def _name(owner: OwnerName) -> str:
    """The name of the cookie: that of an owner may have characters which no cookie has."""
    return f"livedata-seen-{hashlib.sha256(owner.encode()).hexdigest()[:12]}"
