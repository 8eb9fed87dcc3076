"""What the calls of models and search providers took."""

from __future__ import annotations

from livedata.model.ids import AttemptId, Micros, OwnerName, RunId, new_id
from livedata.model.research.answers import CallUsage
from livedata.model.research.record import RecordedCall
from livedata.model.run import Phase
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn, dump
from livedata.store.database.statements import insert

USAGE = JsonColumn[CallUsage](CallUsage)

_ADD = insert("model_calls", "id", "run_id", "attempt_id", "step_id", "phase", "took", "created_at")


def add(
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


def since(reader: Reader, owner: OwnerName, moment: Micros) -> list[tuple[Micros, CallUsage]]:
    """What the calls of an owner took since a moment, each with its own."""
    rows = reader.rows(
        # EXISTS and not a join: recent calls are few, while SQLite would begin with all Runs.
        "SELECT c.created_at, c.took FROM model_calls c WHERE c.created_at >= :moment AND EXISTS ("
        "SELECT 1 FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "WHERE r.id = c.run_id AND d.owner = :owner) ORDER BY c.created_at",
        moment=moment,
        owner=owner,
    )
    return [(made_at, USAGE.load(took)) for made_at, took in rows]


def all_of(reader: Reader, run: RunId) -> list[RecordedCall]:
    """The calls of a Run, of all its attempts."""
    rows = reader.rows(
        "SELECT phase, took FROM model_calls WHERE run_id = :run ORDER BY created_at, id", run=run
    )
    return [RecordedCall(phase, USAGE.load(took)) for phase, took in rows]
