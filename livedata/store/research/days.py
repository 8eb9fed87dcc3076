"""What the research of each owner has used of a day: tokens, and millionths of a US dollar."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import OwnerName
from livedata.store.database.backend import Reader, Writer

MICROS = 1_000_000
_NO_LIMIT = 2**62
_OPEN = """
INSERT INTO research_days (owner, day, tokens, micro_usd, stopped) VALUES (:owner, :day, 0, 0, 0)
ON CONFLICT (owner, day) DO NOTHING
"""
# In one statement: two Runs that ask at once cannot both be given the last of it.
_TAKE = """
UPDATE research_days SET tokens = tokens + :tokens, micro_usd = micro_usd + :micros
WHERE owner = :owner AND day = :day
AND tokens + :tokens <= :most_tokens AND micro_usd + :micros <= :most_micros
"""
_STOP = """
INSERT INTO research_days (owner, day, tokens, micro_usd, stopped) VALUES (:owner, :day, 0, 0, 1)
ON CONFLICT (owner, day) DO UPDATE SET stopped = research_days.stopped + 1
"""


class Used(Struct, frozen=True):
    """What was used of a day, and how many Runs its budget has stopped."""

    tokens: int = 0
    micros: int = 0
    stopped: int = 0


def take(
    writer: Writer,
    owner: OwnerName,
    day: str,
    amount: Used,
    most_tokens: int | None,
    most_micros: int | None,
) -> bool:
    """Add to what is used of a day; False if that is more than the day has, and nothing is added.

    A negative amount gives back what was set aside and not used.
    """
    writer.execute(_OPEN, owner=owner, day=day)
    taken = writer.execute(
        _TAKE,
        owner=owner,
        day=day,
        tokens=amount.tokens,
        micros=amount.micros,
        most_tokens=_NO_LIMIT if most_tokens is None else most_tokens,
        most_micros=_NO_LIMIT if most_micros is None else most_micros,
    )
    return bool(taken)


def note_stop(writer: Writer, owner: OwnerName, day: str) -> None:
    """Count a Run that the budget of a day has stopped."""
    writer.execute(_STOP, owner=owner, day=day)


def used(reader: Reader, owner: OwnerName, day: str) -> Used:
    """What an owner has used of a day."""
    row = reader.row(
        "SELECT tokens, micro_usd, stopped FROM research_days WHERE owner = :owner AND day = :day",
        owner=owner,
        day=day,
    )
    return Used() if row is None else Used(*row)


def of_all(reader: Reader, day: str) -> dict[OwnerName, Used]:
    """What each owner has used of a day, if any."""
    rows = reader.rows(
        "SELECT owner, tokens, micro_usd, stopped FROM research_days WHERE day = :day "
        "ORDER BY owner",
        day=day,
    )
    return {owner: Used(*amounts) for owner, *amounts in rows}
