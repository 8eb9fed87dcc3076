"""Runs that are interrupted: taken back from a process that is gone, or cancelled.

A Run that waits is cancelled at once. Of one in progress the request is written into its row:
whoever executes it looks for that, and the transaction that ends the Run obeys it. So who is told
that a Run is being cancelled can rely on it, and a Run that has concluded before has won.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from livedata.model.errors import Conflict, NotFound
from livedata.model.ids import OwnerName, RunId
from livedata.model.problem import Problem, Remedy
from livedata.services import leases
from livedata.services.commit import CANCELLED, RunOutcome, ended
from livedata.services.leases import is_live
from livedata.services.notices import notifying
from livedata.store import cancellations, queue, runs
from livedata.store.database.backend import Writer
from livedata.store.database.store import Database, Store
from livedata.store.queue import OpenRun

MAX_ATTEMPTS = 3
_RUN_AGAIN = (Remedy("run_again"),)
WORKER_LOST = Problem("run.worker_lost", {"attempts": MAX_ATTEMPTS}, remedies=_RUN_AGAIN)


def reap_expired_leases(store: Store) -> None:
    """Take back the Runs whose process is gone or whose lease is over.

    A Run that was lost alone has used an attempt, and fails after the last one. Runs that were lost
    together have used none, and each is started again by itself. One that is to be cancelled ends.
    """
    # Asked by every start and every worker's tick, and nearly always for nothing: reading is cheap.
    with store.reading() as reader:
        seen = sorted(run.id for group in leases.lost(reader).values() for run in group)
    if not seen:
        return
    with store.writing() as writer:
        _lock_all(writer, seen)
        # Asked again under the locks: another process may have taken them back meanwhile.
        groups = leases.lost(writer).values()
        locked = [[run for run in group if run.id in seen] for group in groups]
        _take_back(writer, locked, WORKER_LOST)


def take_back(store: Store, holder: str, problem: Problem) -> None:
    """Take back the Runs of a process that had to be killed, because of what one of them did.

    As above, but each is started by itself from now on, and the last attempt ends with `problem`.
    """
    with store.reading() as reader:
        seen = sorted(run.id for run in leases.held_by(reader, holder))
    with store.writing() as writer:
        _lock_all(writer, seen)
        _take_back(writer, [leases.held_by(writer, holder)], problem, isolated=True)


def _lock_all(writer: Writer, those: Sequence[RunId]) -> None:
    """Lock several Runs; they may be gone."""
    # In one order, so that two who take the same Runs back never wait for each other.
    for run in those:
        with suppress(NotFound):
            runs.lock_run(writer, run)


def _take_back(
    writer: Writer,
    groups: Iterable[Sequence[OpenRun]],
    problem: Problem,
    *,
    isolated: bool = False,
) -> None:
    """Queue Runs again that were lost in groups, or end them, and tell of those that end."""
    # After the last of them: `tell` locks their owners in an order of its own.
    ends = {
        run.id: end
        for group in groups
        for run in group
        if (end := _requeue(writer, run, problem, together=len(group) > 1, isolated=isolated))
    }
    notifying.tell(writer, ends)


def _requeue(
    writer: Writer, run: OpenRun, problem: Problem, *, together: bool, isolated: bool
) -> RunOutcome | None:
    """Queue a lost Run again, or end it; every change names the fence that was read."""
    if run.cancelling:
        return end_fenced(writer, run.id, run.fence, CANCELLED)
    # One Run of the group may have killed the process, and nobody knows which. By itself it shows.
    if together:
        queue.put(writer, run.id, fence=run.fence, attempt=run.attempt - 1, isolated=True)
        return None
    if run.attempt < MAX_ATTEMPTS:
        queue.put(writer, run.id, fence=run.fence, attempt=run.attempt, isolated=isolated)
        return None
    end = RunOutcome("failed", "worker_lost", problem, None, {"attempts": run.attempt})
    return end_fenced(writer, run.id, run.fence, end)


def end_fenced(writer: Writer, run: RunId, fence: int, end: RunOutcome) -> RunOutcome:
    """End a Run of which nothing is accepted. Raises LostLease."""
    runs.fenced(writer, run, fence, **ended(end, writer.now()))
    queue.publish_next(writer, queue.turn(writer, run))
    return end


def cancel(store: Store, owner: OwnerName, run: RunId) -> bool:
    """Cancel a Run of an owner, and return whether it has ended by that.

    If not, the process that executes it ends it within seconds. Raises NotFound, and Conflict if it
    has ended or is being cancelled already.
    """
    with store.writing() as writer:
        locked = runs.lock_run(writer, run, owner)
        waits = queue.open_by_id(writer, run)
        if waits is None:
            raise Conflict(f"This Run has ended ({locked.status}), so there is nothing to cancel.")
        if waits.status == "queued":
            return runs.end_queued(writer, run, **ended(CANCELLED, writer.now()))
        # Nobody would see the request before somebody takes the Run back.
        if not is_live(writer, waits.lease):
            end_fenced(writer, run, waits.fence, CANCELLED)
            return True
        if waits.cancelling:
            raise Conflict("This Run is being cancelled already: its process ends it in seconds.")
        cancellations.ask(writer, run, writer.now())
    return False


def asked(db: Database) -> set[RunId]:
    """The Runs in progress that are to be cancelled, whoever executes them."""
    with db.reading() as reader:
        return cancellations.asked(reader)
