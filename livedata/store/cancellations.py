"""Which Runs in progress are to be cancelled: a request in their rows, for whoever executes them.

Only a running Run has one. It ends as cancelled, whether its process does that or is lost, and
never waits in the queue again.
"""

from __future__ import annotations

from livedata.model.ids import Micros, RunId
from livedata.store.database.backend import Reader, Writer


def ask(writer: Writer, run: RunId, now: Micros) -> None:
    """Let a running Run end as cancelled; the caller has locked it."""
    writer.execute("UPDATE runs SET cancel_asked_at = :now WHERE id = :run", run=run, now=now)


def is_asked(reader: Reader, run: RunId) -> bool:
    """Whether a Run is to be cancelled."""
    asked = reader.value("SELECT cancel_asked_at FROM runs WHERE id = :run", run=run)
    return asked is not None


def asked(reader: Reader) -> set[RunId]:
    """The Runs in progress that are to be cancelled, anywhere."""
    # By the index of the status: few are running, however many there were.
    rows = reader.rows(
        "SELECT id FROM runs WHERE status = 'running' AND cancel_asked_at IS NOT NULL"
    )
    return {run for (run,) in rows}
