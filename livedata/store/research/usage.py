"""What research took: each call of a model or a search, and what each owner has used of a day."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import AttemptId, DatasetId, Micros, OwnerName, RunId, new_id
from livedata.model.research.answers import CallUsage
from livedata.model.research.record import RecordedCall
from livedata.model.run import Phase
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn, dump
from livedata.store.database.statements import insert

USAGE = JsonColumn[CallUsage](CallUsage)

_ADD = insert("model_calls", "id", "run_id", "attempt_id", "step_id", "phase", "took", "created_at")
MICROS = 1_000_000
"""Millionths in a US dollar."""
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


def add_call(
    writer: Writer,
    run: RunId,
    attempt: AttemptId,
    step: bytes,
    phase: Phase,
    usage: CallUsage,
    now: Micros,
) -> None:
    """Keep what one call took."""
    writer.execute(
        _ADD,
        id=new_id(),
        run_id=run,
        attempt_id=attempt,
        step_id=step,
        phase=phase,
        took=dump(usage),
        created_at=now,
    )


def calls_since(
    reader: Reader, owner: OwnerName, moment: Micros
) -> list[tuple[Micros, DatasetId, CallUsage]]:
    """What the calls of an owner took since a moment, each with its own, and of which dataset."""
    rows = reader.rows(
        # EXISTS and not a join: recent calls are few, while SQLite would begin with all Runs.
        "SELECT c.created_at, (SELECT r.dataset_id FROM runs r WHERE r.id = c.run_id), c.took "
        "FROM model_calls c WHERE c.created_at >= :moment AND EXISTS ("
        "SELECT 1 FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "WHERE r.id = c.run_id AND d.owner = :owner) ORDER BY c.created_at",
        moment=moment,
        owner=owner,
    )
    return [(made_at, dataset, USAGE.load(took)) for made_at, dataset, took in rows]


def calls_of(reader: Reader, run: RunId) -> list[RecordedCall]:
    """The calls of a Run, of all its attempts."""
    rows = reader.rows(
        "SELECT phase, took FROM model_calls WHERE run_id = :run ORDER BY created_at, id", run=run
    )
    return [RecordedCall(phase, USAGE.load(took)) for phase, took in rows]


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
    taken = writer.written(
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


def of_owners(reader: Reader, day: str) -> dict[OwnerName, Used]:
    """What each owner has used of a day, if any."""
    rows = reader.rows(
        "SELECT owner, tokens, micro_usd, stopped FROM research_days WHERE day = :day "
        "ORDER BY owner",
        day=day,
    )
    return {owner: Used(*amounts) for owner, *amounts in rows}
