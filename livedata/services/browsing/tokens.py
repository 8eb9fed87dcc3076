"""What the models and searches of an owner took, day by day."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from livedata.model.ids import Micros, OwnerName, format_timestamp
from livedata.model.research.answers import CallUsage
from livedata.store.database.store import Database
from livedata.store.research import calls

WINDOW = 30 * 86_400 * 1_000_000


class Day(Struct):
    """What the calls of a day in UTC took; what no provider told is not counted."""

    day: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0
    search_credits: float = 0


def days(db: Database, owner: OwnerName) -> list[Day]:
    """The days of the last 30 that had a call, the newest first."""
    with db.reading() as reader:
        made = calls.since(reader, owner, Micros(reader.now() - WINDOW))
    return _summed(made)[::-1]


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
