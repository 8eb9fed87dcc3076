"""What the kernel tells of a process: where its pid belongs, when it started, what it holds."""

from __future__ import annotations

import os
import platform
from functools import cache
from pathlib import Path

MEGABYTE = 1_000_000
UNKNOWN = "?"
"""The start time of a process that is there, and that this one may not look at."""


@cache
def machine() -> str:
    """The name of what pids belong to: a machine, its boot, and a namespace of pids."""
    # Containers may share a hostname, and each has a process 1 of its own: by the hostname alone a
    # worker takes the live Run of another.
    boot, space = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    try:
        return f"{platform.node()}+{boot.read_text().strip()}+{space.stat().st_ino}"
    except OSError:
        return platform.node()  # a system without /proc


def started(pid: int, folder: Path = Path("/proc")) -> str:
    """The start time of a process in the kernel's ticks; empty if there is no such process."""
    try:
        stat = (folder / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        # A system without /proc, or one that hides the processes of other users (hidepid).
        return UNKNOWN if _exists(pid) else ""
    # The name of the program, in brackets, may itself have spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return "" if fields[0] == "Z" else fields[19]


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # only asks
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True  # it is another user's; no kernel has a number that it cannot take
    return True


def memory(pid: int) -> int:
    """The megabytes that a process holds itself; 0 if that is not known."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except (OSError, IndexError):
        return 0  # it has just ended, or this is a system without /proc
    return int(pages) * os.sysconf("SC_PAGE_SIZE") // MEGABYTE
