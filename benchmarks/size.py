"""Goals 27 and 28: how large the store is after a first Run, and what unchanged Runs add to it.

python -m benchmarks.size
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from benchmarks import shop
from benchmarks.goals import Report
from benchmarks.pair import once
from benchmarks.stage import STORE, Stage, stage

RUNS = 10


def size(at: Stage) -> int:
    """The bytes of the store; a command that ends leaves nothing beside it."""
    assert not list(at.home.glob(f"{STORE}-*"))
    return (at.home / STORE).stat().st_size


def main() -> None:
    """Measure; exit with 1 where a bound is passed."""
    report = Report()
    listed = [item for on_page in shop.items() for item in on_page]
    plain = sum(len(json.dumps(asdict(item))) + 1 for item in listed)
    with stage() as at:
        at.put(at.full)
        first, empty = size(at), at.empty.stat().st_size
        told = f"{first / 1000:.0f} bytes a row against {plain / 1000:.0f}"
        report.figure(27, first / plain, f"{told}; {empty >> 10} KiB of it are the empty store")
        for _ in range(RUNS):
            once(at.livedata("run", "shop"))
            at.expect(0, 0, 0)
        added = (size(at) - first) / RUNS / 1024
        report.figure(28, added, f"{RUNS} Runs, {size(at) - first} bytes")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
