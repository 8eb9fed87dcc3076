"""The lease that a process has on a Run, and whether it still holds.

A lease is written in the time of the wall clock, which may be set. Its origin is where the wall
clock stood when the machine's own clock, which nobody sets, was 0: with it a process of the same
machine reads the lease by that own clock.
"""

from __future__ import annotations

import os
import platform
from collections import defaultdict
from pathlib import Path

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.store import queue
from livedata.store.database.backend import Reader
from livedata.store.queue import Lease, OpenRun


def new_lease(now: Micros) -> Lease:
    """The lease that this process takes, or renews, at a moment."""
    return Lease(lease_holder(), Micros(now + queue.LEASE), now - ids.ticks())


def lease_holder(pid: int | None = None) -> str:
    """The name of a process in a lease: machine, pid and start time, since pids are reused."""
    pid = os.getpid() if pid is None else pid
    return f"{_machine()}/{pid}/{_started(pid)}"


def is_live(lease: Lease | None) -> bool:
    """Whether a lease holds: it is not over, and its process is not known to be gone."""
    if lease is None:
        return False
    # The processes of another machine cannot be seen from here, and its own clock cannot be read:
    # for them only the time counts.
    machine, _, process = lease.holder.partition("/")
    pid, _, started = process.partition("/")
    if machine != _machine() or not pid.isdecimal():
        return lease.until >= ids.now()
    return _started(int(pid)) == started and lease.until >= _clock_of(lease)


def lost(reader: Reader) -> dict[str, list[OpenRun]]:
    """Lease holder -> the Runs that it has lost."""
    runs: defaultdict[str, list[OpenRun]] = defaultdict(list)
    for run in queue.running(reader):
        if not is_live(run.lease):
            runs[run.lease.holder if run.lease else ""].append(run)
    return runs


def _clock_of(lease: Lease) -> int:
    """The present moment, as if nobody had set the clock since the lease was written."""
    # Versions before 0006 kept no origin.
    return ids.now() if lease.origin is None else lease.origin + ids.ticks()


def _machine() -> str:
    """The name of what pids belong to: a machine, its boot, and a namespace of pids."""
    # Containers may share a hostname, and each has a process 1 of its own: by the hostname alone a
    # worker takes the live Run of another.
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    try:
        return f"{platform.node()}+{boot.read_text().strip()}+{space.stat().st_ino}"
    except OSError:
        return platform.node()  # a system without /proc


def _started(pid: int) -> str:
    """The start time of a process in the kernel's ticks; empty if there is no such process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        # Without /proc every process has "?", so a lease then ends by its time alone.
        return "" if Path("/proc/self/stat").exists() else "?"
    # The name of the program, in brackets, may itself have spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]
