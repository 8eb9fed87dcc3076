"""The lease that a process has on a Run, and whether it still holds.

A lease is written in the time of the store's clock, which may be set. Its origin is where that
clock stood when the machine's own clock, which nobody sets, was 0: with it a process of the same
machine reads the lease by that own clock.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.services import processes
from livedata.store import queue
from livedata.store.database.backend import Reader
from livedata.store.queue import Lease, OpenRun


def new_lease(now: Micros) -> Lease:
    """The lease that this process takes, or renews, at a moment."""
    return Lease(lease_holder(), Micros(now + queue.LEASE), now - ids.ticks())


def lease_holder(pid: int | None = None) -> str:
    """The name of a process in a lease: machine, pid and start time, since pids are reused."""
    pid = os.getpid() if pid is None else pid
    return f"{processes.machine()}/{pid}/{processes.started(pid)}"


def is_live(reader: Reader, lease: Lease | None) -> bool:
    """Whether a lease holds: it is not over, and its process is not known to be gone."""
    if lease is None:
        return False
    there = _is_there(lease.holder)
    # The own clock of another machine cannot be read: for its processes only the time counts.
    now = reader.now() if there is None else _clock_of(reader, lease)
    return there is not False and lease.until >= now


def is_gone(holder: str) -> bool:
    """Whether a process is known to be gone: one of another machine may live past its lease."""
    return _is_there(holder) is False


def _is_there(holder: str) -> bool | None:
    """Whether the process of a lease is there; None if that cannot be seen from this machine."""
    machine, _, process = holder.partition("/")
    pid, _, started = process.partition("/")
    if machine != processes.machine() or not pid.isdecimal():
        return None
    # Of a process that may not be looked at, only the time tells.
    return processes.started(int(pid)) in {started, processes.UNKNOWN}


def lost(reader: Reader) -> dict[str, list[OpenRun]]:
    """Lease holder -> the Runs that it has lost."""
    return ask_lost(reader)()


def ask_lost(reader: Reader) -> Callable[[], dict[str, list[OpenRun]]]:
    """The same together with the next question."""
    asked = queue.ask_running(reader)

    def lost() -> dict[str, list[OpenRun]]:
        runs: defaultdict[str, list[OpenRun]] = defaultdict(list)
        for run in asked():
            if not is_live(reader, run.lease):
                runs[run.lease.holder if run.lease else ""].append(run)
        return runs

    return lost


def held_by(reader: Reader, holder: str) -> list[OpenRun]:
    """The Runs that a process has, if nobody has taken them back."""
    return [run for run in queue.ask_running(reader)() if run.lease and run.lease.holder == holder]


def _clock_of(reader: Reader, lease: Lease) -> int:
    """The present moment, as if nobody had set the clock since the lease was written."""
    # Versions before 0006 kept no origin.
    return reader.now() if lease.origin is None else lease.origin + ids.ticks()
