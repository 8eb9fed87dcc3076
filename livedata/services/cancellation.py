"""Cancels Runs that any process of any machine executes.

A Run that waits ends at once. Of one in progress the request is written into its row: whoever
executes it looks for that, and the transaction that ends the Run obeys it. So who is told that a
Run is being cancelled can rely on it, and a Run that has concluded before has won.
"""

from __future__ import annotations

from livedata.model.errors import Conflict
from livedata.model.ids import OwnerName, RunId
from livedata.services.commit import CANCELLED, ended
from livedata.services.leases import is_live
from livedata.services.lost_runs import end_fenced
from livedata.store import cancellations, queue, runs
from livedata.store.database.store import Database, Store


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
