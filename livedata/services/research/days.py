"""What the research of each owner takes in a day: of its budget now, and in the last days."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta, tzinfo
from math import ceil
from typing import Literal
from zoneinfo import ZoneInfo

from msgspec import Struct

from livedata.model import ids
from livedata.model.ids import Micros, OwnerName, format_timestamp, format_uuid
from livedata.model.research.answers import CallUsage
from livedata.model.research.settings import DayBudget, ResearchSettings
from livedata.store.database.backend import Reader
from livedata.store.database.store import Database, Store
from livedata.store.research import usage
from livedata.store.research.usage import MICROS, Used

Exceeded = Literal["token_limit", "cost_limit"]
WINDOW = 30 * 86_400 * 1_000_000
"""How long the last days are."""


class SetAside(Struct, frozen=True):
    """What a call may take at most, of which day of whom."""

    owner: OwnerName
    day: str
    tokens: int
    usd: float


def budget(reader: Reader, owner: OwnerName, settings: ResearchSettings) -> DayBudget:
    """The budget of an owner's day, as it stands now."""
    today = _today(reader, settings)
    used = usage.used(reader, owner, today.day)
    return _budget(today, used, settings)


def of_owner(db: Database, owner: OwnerName, settings: ResearchSettings) -> DayBudget:
    """The budget of an owner's day, for one who asks."""
    with db.reading() as reader:
        return budget(reader, owner, settings)


def of_all(db: Database, settings: ResearchSettings) -> list[tuple[OwnerName, DayBudget, int]]:
    """The day of each owner who has used some of it, and how many Runs it has stopped."""
    with db.reading() as reader:
        today = _today(reader, settings)
        used = usage.of_owners(reader, today.day)
    return [(owner, _budget(today, each, settings), each.stopped) for owner, each in used.items()]


def set_aside(
    store: Store, owner: OwnerName, settings: ResearchSettings, tokens: int, usd: float
) -> SetAside | Exceeded:
    """Set aside what a call may take at most; else the limit that leaves no room for it.

    If the process is lost meanwhile, it stays set aside: nobody knows what the call took.
    """
    most_tokens, most_usd = settings.research_tokens_a_day, settings.research_usd_a_day
    amount = Used(tokens, _micros(usd))
    with store.writing() as writer:
        today = _today(writer, settings)
        most_micros = None if most_usd is None else _micros(most_usd)
        if usage.take(writer, owner, today.day, amount, most_tokens, most_micros):
            return SetAside(owner, today.day, tokens, usd)
        used = usage.used(writer, owner, today.day)
    is_tokens = most_tokens is not None and used.tokens + tokens > most_tokens
    return "token_limit" if is_tokens else "cost_limit"


def settle(store: Store, kept: SetAside, tokens: int, usd: float) -> None:
    """Let a call have taken what it took, in place of what was set aside for it."""
    amount = Used(tokens - kept.tokens, _micros(usd) - _micros(kept.usd))
    with store.writing() as writer:
        # A call is spent whatever is left, and of the day on which it began, also past midnight.
        usage.take(writer, kept.owner, kept.day, amount, None, None)


def _today(reader: Reader, settings: ResearchSettings) -> DayBudget:
    day, renews = day_of(ids.to_datetime(reader.now()), settings.timezone)
    return DayBudget(day, ids.format_timestamp(ids.microseconds(renews)))


def _budget(today: DayBudget, used: Used, settings: ResearchSettings) -> DayBudget:
    return DayBudget(
        today.day,
        today.renews,
        used.tokens,
        used.micros / MICROS,
        settings.research_tokens_a_day,
        settings.research_usd_a_day,
    )


def _micros(usd: float) -> int:
    # Upwards: many small calls must not be free.
    return ceil(usd * MICROS)


def day_of(moment: datetime, zone: str) -> tuple[str, datetime]:
    """The date of a moment in a zone, and the moment at which the next day begins there."""
    # A machine without a table of zones knows this one too.
    local: tzinfo = UTC if zone == "UTC" else ZoneInfo(zone)
    day = moment.astimezone(local).date()
    renews = datetime.combine(day + timedelta(days=1), time(), local)
    return day.isoformat(), renews.astimezone(UTC)


class Day(Struct):
    """What the calls of a day in UTC took; what no provider told is not counted."""

    day: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0
    search_credits: float = 0


class LastDays(Struct, frozen=True):
    """The days of the last 30 that had a call, the newest first, and the money by dataset id."""

    days: Sequence[Day]
    usd: Mapping[str, float]


def last_days(db: Database, owner: OwnerName) -> LastDays:
    """What research took in the last 30 days, by day, and the US dollars of each dataset."""
    with db.reading() as reader:
        made = usage.calls_since(reader, owner, Micros(reader.now() - WINDOW))
    usd: defaultdict[str, float] = defaultdict(float)
    for _, dataset, took in made:
        usd[format_uuid(dataset)] += took.usd or 0
    return LastDays(_summed((moment, took) for moment, _, took in made)[::-1], usd)


def _summed(made: Iterable[tuple[Micros, CallUsage]]) -> list[Day]:
    by_day: dict[str, Day] = {}
    for moment, took in made:
        name = format_timestamp(moment)[:10]
        day = by_day.setdefault(name, Day(name))
        day.calls += 1
        day.input_tokens += took.input_tokens or 0
        day.output_tokens += took.output_tokens or 0
        day.usd += took.usd or 0
        day.search_credits += took.search_credits or 0
    return list(by_day.values())
