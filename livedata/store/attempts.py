"""The attempts at Runs: when each began and ended, and its steps."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from livedata.model.diagnosis.recorded_run import StepFact
from livedata.model.ids import AttemptId, Micros, RunId, format_uuid, new_id
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import STEPS, unpacked
from livedata.store.database.statements import Expiring, insert
from livedata.store.runs import LockedRun

# An attempt that was given back did not count, so its number comes again, and is unique.
_ADD_ATTEMPT = f"""
{insert("attempts", "id", "run_id", "number", "started_at")}
ON CONFLICT (run_id, number) DO UPDATE SET id = excluded.id, started_at = excluded.started_at,
    ended_at = NULL, steps = NULL, pages_read = NULL, items_read = NULL
"""
# The partial index has only attempts with steps: what was dropped once is never walked again.
OLD_STEPS = Expiring(
    *("attempts", "id", "started_at < :moment AND steps IS NOT NULL"),
    "UPDATE attempts SET steps = NULL",
)
"""The steps of attempts that started before a moment."""


class RecordedAttempt(Struct, frozen=True):
    """One attempt at a Run; `steps` is None if they were not recorded, or are kept no more."""

    id: str
    raw: AttemptId
    started: Micros
    ended: Micros | None
    steps: list[StepFact] | None


def of_run(reader: Reader, run: RunId) -> list[RecordedAttempt]:
    """The attempts at a Run, in order."""
    rows = reader.rows(
        "SELECT id, started_at, ended_at, steps FROM attempts WHERE run_id = :run ORDER BY number",
        run=run,
    )
    return [
        RecordedAttempt(
            format_uuid(key), key, started, ended, STEPS.load(unpacked(steps)) if steps else None
        )
        for key, started, ended, steps in rows
    ]


def add_each(writer: Writer, those: Sequence[LockedRun], now: Micros) -> dict[RunId, AttemptId]:
    """Add the next attempt at each of these Runs; their ids."""
    added = {run.id: AttemptId(new_id()) for run in those}
    writer.many(
        _ADD_ATTEMPT,
        [
            {"id": added[run.id], "run_id": run.id, "number": run.attempt + 1, "started_at": now}
            for run in those
        ],
    )
    return added


def end(writer: Writer, attempt: AttemptId, now: Micros, steps: str) -> None:
    """Close an attempt with its steps."""
    writer.execute(
        "UPDATE attempts SET steps = :steps, "
        "ended_at = CASE WHEN :now < started_at THEN started_at ELSE :now END WHERE id = :attempt",
        attempt=attempt,
        now=now,
        steps=steps,
    )
