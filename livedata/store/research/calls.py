"""What the calls of models and search providers took."""

from __future__ import annotations

from livedata.model.ids import AttemptId, Micros, RunId, new_id
from livedata.model.research.answers import Usage
from livedata.model.research.record import RecordedCall
from livedata.model.run import Phase
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.database.statements import insert
from livedata.store.research.columns import USAGE

_ADD = insert("model_calls", "id", "run_id", "attempt_id", "step_id", "phase", "took", "created_at")


def add(
    writer: Writer,
    run: RunId,
    attempt: AttemptId,
    step: bytes,
    phase: Phase,
    usage: Usage,
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


def all_of(reader: Reader, run: RunId) -> list[RecordedCall]:
    """The calls of a Run, of all its attempts."""
    rows = reader.rows(
        "SELECT phase, took FROM model_calls WHERE run_id = :run ORDER BY created_at, id", run=run
    )
    return [RecordedCall(phase, USAGE.load(took)) for phase, took in rows]
