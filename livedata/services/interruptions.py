"""Runs that are interrupted: taken back from a process that is gone, or cancelled.

A Run that waits is cancelled at once. Of one in progress the request is written into its row:
whoever executes it looks for that, and the transaction that ends the Run obeys it. So who is told
that a Run is being cancelled can rely on it, and a Run that has concluded before has won.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from msgspec import Struct

from livedata.model.errors import Conflict, NotFound
from livedata.model.ids import OwnerName, RunId
from livedata.model.problem import Problem, Remedy
from livedata.services import leases
from livedata.services.commit import CANCELLED, RunOutcome, ended
from livedata.services.leases import is_live
from livedata.services.notices import notifying
from livedata.store import queue, runs
from livedata.store.database.backend import Writer
from livedata.store.database.store import Database, Store
from livedata.store.queue import OpenRun

MAX_ATTEMPTS = 3
_RUN_AGAIN = (Remedy("run_again"),)
WORKER_LOST = Problem("run.worker_lost", {"attempts": MAX_ATTEMPTS}, remedies=_RUN_AGAIN)


def reap_expired_leases(store: Store) -> None:
    """Take back the Runs whose process is gone or whose lease is over.

    A Run that was lost alone has used an attempt, and fails after the last one. Runs that were lost
    together have used none. If their process is gone one of them may have felled it, so each is
    started again by itself; if only their leases are over, as of a machine that cannot reach the
    store, that happens at the second time. One that is to be cancelled ends.
    """
    # Asked by every start and every worker's tick, and nearly always for nothing: reading is cheap.
    with store.reading() as reader:
        seen = sorted(run.id for group in leases.lost(reader).values() for run in group)
    if not seen:
        return
    with store.writing() as writer:
        _lock_all(writer, seen)
        # Asked again under the locks: another process may have taken them back meanwhile.
        groups = {
            holder: [run for run in group if run.id in seen]
            for holder, group in leases.lost(writer).items()
        }
        losses = [
            _Loss(run, together=len(group) > 1, crashed=leases.is_gone(holder))
            for holder, group in groups.items()
            for run in group
        ]
        _take_back(writer, losses, WORKER_LOST)


def take_back(store: Store, holder: str, problem: Problem | None = None) -> None:
    """Take back the Runs of a process that was seen to die, by whoever watched it.

    If it had to be killed, because of what one of them did, that is the `problem` with which the
    last attempt ends, and each is started by itself from now on, even if it was the only one.
    """
    with store.reading() as reader:
        seen = sorted(run.id for run in leases.held_by(reader, holder))
    if not seen:
        return
    with store.writing() as writer:
        _lock_all(writer, seen)
        held = leases.held_by(writer, holder)
        losses = [
            _Loss(run, together=len(held) > 1, crashed=True, killed=problem is not None)
            for run in held
        ]
        _take_back(writer, losses, problem or WORKER_LOST)


class _Loss(Struct, frozen=True):
    """A Run whose process was lost, `together` with others of that process or alone.

    The process has `crashed` if it is known to be gone; if not it may well live.
    """

    run: OpenRun
    together: bool
    crashed: bool
    killed: bool = False

    @property
    def shared(self) -> bool:
        """Whether it costs no attempt: another Run may be the cause."""
        # One that is started by itself has no company but in workers of an older version.
        return self.together and not self.run.isolated

    @property
    def isolates(self) -> bool:
        """Whether the Run is started by itself from now on."""
        # Starts that cost no attempt were lost together with others, or were given back.
        again = self.run.fence > self.run.attempt
        return self.killed or (self.together and (self.crashed or again))


def _lock_all(writer: Writer, those: Sequence[RunId]) -> None:
    """Lock several Runs; they may be gone."""
    # In one order, so that two who take the same Runs back never wait for each other.
    for run in those:
        with suppress(NotFound):
            runs.lock_run(writer, run)


def _take_back(writer: Writer, losses: Iterable[_Loss], problem: Problem) -> None:
    """Queue Runs again that were lost, or end them, and tell of those that end."""
    # After the last of them: `tell` locks their owners in an order of its own.
    ends = {loss.run.id: end for loss in losses if (end := _requeue(writer, loss, problem))}
    notifying.tell(writer, ends)


def _requeue(writer: Writer, loss: _Loss, problem: Problem) -> RunOutcome | None:
    """Queue a lost Run again, or end it; every change names the fence that was read."""
    run = loss.run
    if run.cancelling:
        return end_fenced(writer, run.id, run.fence, CANCELLED)
    # One Run of the group may have killed the process, and nobody knows which. By itself it shows.
    if loss.shared or run.attempt < MAX_ATTEMPTS:
        attempt = run.attempt - loss.shared
        queue.put(writer, run.id, fence=run.fence, attempt=attempt, isolated=loss.isolates)
        return None
    end = RunOutcome("failed", "worker_lost", problem, None, {"attempts": run.attempt})
    return end_fenced(writer, run.id, run.fence, end)


def end_fenced(writer: Writer, run: RunId, fence: int, end: RunOutcome) -> RunOutcome:
    """End a Run of which nothing is accepted. Raises LostLease."""
    runs.fenced(writer, run, fence, **ended(end, writer.now()))
    queue.call_next(writer, queue.turn(writer, run))
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
        runs.ask_to_cancel(writer, run, writer.now())
    return False


def asked(db: Database) -> set[RunId]:
    """The Runs in progress that are to be cancelled, whoever executes them."""
    with db.reading() as reader:
        return runs.all_to_cancel(reader)
