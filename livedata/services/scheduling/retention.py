"""What is kept for a time only, and let go of when that is over."""

from __future__ import annotations

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.model.run import KEPT_FOR
from livedata.store import held, runs, schedules
from livedata.store.database.store import Store


def forget_old(store: Store) -> None:
    """Let go of what was kept long enough, of all datasets: steps, pages, outputs, skipped fires.

    Rows, history, evidence, Runs and the ledger stay.
    """
    now = ids.now()
    before = Micros(now - KEPT_FOR)
    # A transaction for each kind: it writes rows of any dataset without their locks, and what ends
    # meanwhile shall wait for one of them at most.
    for forget, moment in (
        (runs.forget_steps, before),
        (schedules.forget_skipped, before),
        (held.forget_pages, now),
        (held.forget_kept, now),
    ):
        with store.writing() as writer:
            forget(writer, moment)
