"""The attempts at Runs: when each began and ended, and its steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict, fields

from livedata.model.diagnosis.recorded_run import StepFact
from livedata.model.errors import LostLease, NotFound
from livedata.model.ids import AttemptId, Micros, RunId, format_uuid, new_id
from livedata.store import datasets, queue, runs
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import STEPS, unpacked
from livedata.store.database.statements import Expiring, insert, listed, write_both
from livedata.store.datasets import LockedDataset
from livedata.store.queue import Lease
from livedata.store.runs import LockedRun

# An attempt that was given back did not count, so its number comes again, and is unique.
_ADD_ATTEMPT = f"""
{insert("attempts", "id", "run_id", "number", "started_at")}
ON CONFLICT (run_id, number) DO UPDATE SET id = excluded.id, started_at = excluded.started_at,
    ended_at = NULL, steps = NULL, pages_read = NULL, items_read = NULL
"""
_START = """
UPDATE runs SET status = 'running', attempt = attempt + 1, fence = fence + 1,
    lease_owner = :holder, lease_until = :until, lease_origin = :origin, turn = site,
    started_at = CASE WHEN started_at IS NOT NULL THEN started_at
        WHEN :started_at < queued_at THEN queued_at ELSE :started_at END
WHERE id = :run_id
"""
"""It starts no earlier than it was queued, whatever the clock does."""
_END_ATTEMPT = """
UPDATE attempts SET steps = :steps,
    ended_at = CASE WHEN :ended_at < started_at THEN started_at ELSE :ended_at END
WHERE id = :attempt
"""
_OF_RUN = len(fields(LockedRun)) + 1
"""So many columns are of the Run: one is the version of the store."""
# The server locks a row of each table in the order of FROM: Run, dataset.
_BOTH = f"""
SELECT {runs.LOCKED}, {datasets.LOCKED} FROM runs r JOIN datasets d ON d.id = r.dataset_id
"""  # noqa: S608  (our own words)
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


def locking(writer: Writer, run: RunId) -> Callable[[], tuple[LockedRun, LockedDataset]]:
    """Keep every other writer of a Run and its dataset out, together with the next question.

    Raises NotFound if they are gone, and OtherVersion if the store was migrated meanwhile.
    """
    answer = writer.lock(f"{_BOTH} WHERE r.id = :run", run=run)

    def locked() -> tuple[LockedRun, LockedDataset]:
        for row in answer():
            return _locked(row)
        raise runs.not_found()

    return locked


def holding(
    writer: Writer, run: RunId, fence: int
) -> Callable[[], tuple[LockedRun, LockedDataset]]:
    """The same of a Run that an attempt holds. Raises LostLease if another one has it, or none."""
    locking_both = locking(writer, run)

    def held() -> tuple[LockedRun, LockedDataset]:
        try:
            locked, dataset = locking_both()
        except NotFound:
            raise LostLease from None
        queue.check_held(locked, fence)
        return locked, dataset

    return held


def lock_free_queued(
    writer: Writer, those: Collection[RunId], limit: int
) -> list[tuple[LockedRun, LockedDataset]]:
    """The same of so many of these Runs, those that wait longest, that are queued and free.

    Raises OtherVersion in the same case.
    """
    names, named = listed("run", those)
    # An expression, or SQLite would read the index of all that is queued for it.
    queued = f"WHERE r.id IN ({names}) AND coalesce(r.status, '') = 'queued'"
    sql = f"{_BOTH} {queued} ORDER BY r.queued_at, r.id LIMIT :limit"
    return [_locked(row) for row in writer.all_locked_if_free(sql, limit=limit, **named)]


def _locked(row: Row) -> tuple[LockedRun, LockedDataset]:
    return runs.locked(row[:_OF_RUN]), datasets.locked(row[_OF_RUN:])


def start_each(
    writer: Writer, those: Sequence[LockedRun], lease: Lease, now: Micros
) -> dict[RunId, AttemptId]:
    """Start queued Runs that this transaction has locked: fence and attempt number grow by one.

    The answer are the ids of their attempts. Raises AlreadyThere, at the end at the latest, if the
    site of one is busy.
    """
    # The turn is in a unique index over running Runs: that is how a site is asked by one Run at a
    # time, over all processes. In one order, so that no two processes wait for each other there.
    # The fence is no attempt number: a number that is given back comes again.
    added = {run.id: AttemptId(new_id()) for run in sorted(those, key=lambda run: run.site)}
    number = {run.id: run.attempt + 1 for run in those}
    common = {**asdict(lease), "started_at": now}
    rows = [{**common, "id": added[run], "run_id": run, "number": number[run]} for run in added]
    write_both(writer, _START, _ADD_ATTEMPT, rows)
    return added


def end(writer: Writer, attempt: AttemptId, now: Micros, steps: str) -> None:
    """End an attempt with its steps."""
    writer.execute(_END_ATTEMPT, attempt=attempt, ended_at=now, steps=steps)


def end_both(
    writer: Writer,
    run: RunId,
    attempt: AttemptId,
    now: Micros,
    steps: str,
    columns: Mapping[str, object],
) -> None:
    """The same, and set these columns of its Run, which is locked."""
    values = {**columns, "run": run, "attempt": attempt, "ended_at": now, "steps": steps}
    write_both(writer, runs.changing(columns), _END_ATTEMPT, [values])
