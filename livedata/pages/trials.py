"""What a notice would have told: by day and dataset, how much of what, and the first rows of each.

Nobody is told of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from itertools import groupby, islice
from typing import Any, Final
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import g, request
from msgspec import Struct, field
from msgspec.structs import replace
from werkzeug.wrappers import Response

from livedata.model import ids
from livedata.model.dataset import columns_by_name
from livedata.model.errors import Invalid
from livedata.model.ids import Micros, format_timestamp, format_uuid
from livedata.pages.answers import page, sentences
from livedata.pages.news import (
    RowLine,
    begin_of_day,
    day_of,
    line_of,
    longest_text,
)
from livedata.pages.notice_form import BECAME, find_notice, shown_notices
from livedata.pages.paging import address, back_by, passed_over
from livedata.pages.visits import at_one_moment, context
from livedata.services.moments import end_of_day
from livedata.services.notices import subscriptions
from livedata.services.notices.gathering import (
    KINDS,
    TriedMessage,
    changes_since,
    tried,
    tried_digest,
)
from livedata.services.notices.told_changes import Funnel, NamedChange
from livedata.store.datasets import DatasetRef
from livedata.store.notices import Notice

DAYS: Final = 30
"""So many days back it looks if no other moment is asked for."""
SPANS: Final = (7, 30, 90)
"""Links lead to what it would have told in so many days."""
MOST_MESSAGES: Final = 500
"""So many messages are looked at."""
MOST_IN_DIGEST: Final = 1_000
"""So many changes of a dataset a program is given of a digest."""
ROWS: Final = 5
"""So many rows of a dataset are told of each day."""
ON_A_PAGE: Final = 30
"""So many datasets of all days are told: a page weighs about 100 KB then."""
_KINDS: Final = dict(zip(("created", "updated", "missing", "returned"), KINDS, strict=True))
"""What a revision is -> what became of its row."""


class ShownMoment(Struct, frozen=True):
    """A moment, and what a clock of its zone shows then."""

    at: str
    clock: str


class TrialPart(Struct, frozen=True):
    """What would have been told of a dataset on a day: when, how many rows of each kind, the first.

    Of a digest it is what came together, without a day.
    """

    day: str
    dataset: str
    name: str
    changes: str
    moments: Sequence[ShownMoment]
    counts: Mapping[str, int]
    lines: Sequence[RowLine]

    @property
    def more(self) -> int:
        """How many rows are not among the first ones."""
        return sum(self.counts.values()) - len(self.lines)


class NoticeTrial(Struct, frozen=True):
    """All that would have been told, the last day first, and the same for programs.

    `is_cut` says that there are more messages than were looked at.
    """

    parts: Sequence[TrialPart] = ()
    data: Sequence[object] = ()
    messages: int = 0
    is_cut: bool = False

    @property
    def counts(self) -> Mapping[str, int]:
        """How many rows of each kind are told of."""
        return {kind: sum(part.counts.get(kind, 0) for part in self.parts) for kind in KINDS}

    @property
    def days(self) -> int:
        """On how many days something is told."""
        return len({part.day for part in self.parts})

    @property
    def datasets(self) -> int:
        """Of how many datasets something is told."""
        return len({part.dataset for part in self.parts})


@at_one_moment
def show(notice: str) -> Response:
    """What a notice would have told since a moment."""
    kept, zone = find_notice(g.db, notice), context().zone
    today = day_of(ids.now(), zone)
    since = request.args.get("since") or (today - timedelta(days=DAYS)).isoformat()
    told = tried_since(kept, since, zone, passed_over(request.args))
    trial, following = told["trial"], told["following"]
    passed = len(trial.parts) - following
    return page(
        "notice_trial.html",
        data=lambda: {"data": trial.data, "hasMore": trial.is_cut},
        status=400 if told["refusal"] else 200,
        notice={"id": notice, "name": kept.name},
        became=BECAME,
        since=since,
        spans=[(days, (today - timedelta(days=days)).isoformat()) for days in SPANS],
        more=address(after=str(passed)) if following > 0 else None,
        back=back_by(ON_A_PAGE),
        **told,
    )


def tried_lately(wish: Notice, zone: str) -> dict[str, Any]:
    """What a wish would have told of late, for the page of its form."""
    since = day_of(ids.now(), zone) - timedelta(days=DAYS)
    return tried_since(wish, since.isoformat(), zone)


def tried_since(kept: Notice, since: str, zone: str, passed: int = 0) -> dict[str, Any]:
    """What a page shows of what a notice would have told since a moment; or why it cannot be."""
    today, day, funnel = day_of(ids.now(), zone), _day(since), Funnel()
    trial, refusal = NoticeTrial(), ""
    nothing: dict[str, Any] = {}
    try:
        trial = (_of_digest if kept.digest else _of_messages)(kept, since, zone, funnel)
        nothing = {} if trial.parts else _nothing(kept, since, zone, funnel)
    except Invalid as error:
        refusal = sentences(error)
    shown = trial.parts[passed : passed + ON_A_PAGE]
    days = groupby(shown, key=lambda part: part.day)
    return {
        "trial": trial,
        "digest": kept.digest,
        "days": [(each and _said(date.fromisoformat(each), today), [*of]) for each, of in days],
        "following": len(trial.parts) - passed - len(shown),
        "longest": longest_text(line for part in shown for line in part.lines),
        "is_day": day is not None,
        "since_said": since if day is None else _said(day, today),
        "most": MOST_MESSAGES,
        "clock_of": zone,
        "refusal": refusal,
        **nothing,
    }


def _nothing(kept: Notice, since: str, zone: str, funnel: Funnel) -> dict[str, Any]:
    """What is said where nothing is told: of how many changes, of what, and where they ended.

    Raises Invalid.
    """
    changed = [each for each in changes_since(g.db, kept, since, zone) if each[1]]
    listing = subscriptions.listed(g.db, kept.owner, zone)
    (narrowing,) = shown_notices([kept], listing)
    return {
        "funnel": funnel,
        "changed": [dataset.name for dataset, _ in changed],
        "narrowing": narrowing,
    }


def _day(since: str) -> date | None:
    try:
        return date.fromisoformat(since)
    except ValueError:
        return None


def _said(day: date, today: date) -> str:
    said = f"{day:%A}, {day.day} {day:%B}"
    return said if day.year == today.year else f"{said} {day.year}"


class _GatheredDay(Struct):
    """What is gathered of a dataset on a day."""

    dataset: DatasetRef
    zone: str
    moments: list[ShownMoment] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lines: list[RowLine] = field(default_factory=list)

    def add(self, message: TriedMessage) -> None:
        """Count a message, and keep the first rows."""
        local = ids.to_datetime(message.at).astimezone(ZoneInfo(self.zone))
        self.moments.append(ShownMoment(format_timestamp(message.at), f"{local:%R}"))
        self.counts.update(_KINDS[change.line["kind"]] for change in message.changes)
        first = message.changes[: ROWS - len(self.lines)]
        self.lines += _lines(self.dataset, first)


def _of_messages(kept: Notice, since: str, zone: str, funnel: Funnel) -> NoticeTrial:
    """What is told at once, by day. Raises Invalid."""
    days: dict[tuple[date, str], _GatheredDay] = {}
    data: list[object] = []
    messages = 0
    # One more than is looked at tells whether there are more.
    for message in islice(tried(g.db, kept, since, zone, funnel), MOST_MESSAGES + 1):
        messages += 1
        if messages > MOST_MESSAGES:
            break
        data += [change.line for change in message.changes]
        key = day_of(message.at, zone), message.dataset.name
        days.setdefault(key, _GatheredDay(message.dataset, zone)).add(message)
    newest = sorted(days.items(), key=lambda each: (-each[0][0].toordinal(), each[0][1]))
    parts = [_of_day(day, gathered, zone) for (day, _), gathered in newest]
    return NoticeTrial(parts, data, min(messages, MOST_MESSAGES), messages > MOST_MESSAGES)


def _of_day(day: date, gathered: _GatheredDay, zone: str) -> TrialPart:
    since, until = begin_of_day(day, zone), end_of_day(day.isoformat(), zone)
    return _part(
        gathered.dataset,
        day.isoformat(),
        gathered.counts,
        gathered.lines,
        since,
        until,
        gathered.moments,
    )


def _of_digest(kept: Notice, since: str, zone: str, funnel: Funnel) -> NoticeTrial:
    """What one digest tells of all. Raises Invalid."""
    parts, data = [], []
    # What came after a day is what its end does not have.
    begin = end_of_day(since, zone)
    for each in tried_digest(g.db, kept, since, zone, MOST_IN_DIGEST, funnel):
        data += [{"dataset": each.dataset.name, **change.line} for change in each.changes]
        lines = [*_lines(each.dataset, each.changes[:ROWS])]
        parts.append(_part(each.dataset, "", each.rows, lines, begin, None))
    return NoticeTrial(parts, data, min(1, len(parts)))


def _part(
    dataset: DatasetRef,
    day: str,
    counts: Mapping[str, int],
    lines: Sequence[RowLine],
    since: Micros | None,
    until: Micros | None,
    moments: Sequence[ShownMoment] = (),
) -> TrialPart:
    key = format_uuid(dataset.id)
    ends = {"since": since, "until": until}
    given = {name: format_timestamp(end) for name, end in ends.items() if end is not None}
    changes = f"/datasets/{key}/changes{'?' if given else ''}{urlencode(given)}"
    return TrialPart(day, key, dataset.name, changes, moments, counts, lines)


def _lines(dataset: DatasetRef, changes: Iterable[NamedChange]) -> Iterator[RowLine]:
    columns = columns_by_name(dataset.fields.columns.values())
    for change in changes:
        told: dict[str, Any] = {**change.line}
        told["kind"] = _KINDS.get(told["kind"], told["kind"])
        row = "" if change.row is None else format_uuid(change.row)
        line = line_of(row, change.name, told, columns, change.last)
        yield replace(line, met=told.get("matches", ()))
