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


def size(bench: Stage) -> int:
    """The size of the store in bytes."""
    # A command that ended well has put its write-ahead log into the store.
    assert not list(bench.home.glob(f"{STORE}-*"))
    return (bench.home / STORE).stat().st_size


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    report = Report()
    listed = [item for on_page in shop.items() for item in on_page]
    plain = sum(len(json.dumps(asdict(item))) + 1 for item in listed)
    with stage() as bench:
        bench.put(bench.full)
        first, empty = size(bench), bench.empty.stat().st_size
        detail = f"{first / 1000:.0f} bytes a row against {plain / 1000:.0f}"
        # The empty store is part of the figure: every user pays for its indexes.
        report.figure(27, first / plain, f"{detail}; {empty >> 10} KiB of it are the empty store")
        for _ in range(RUNS):
            once(bench.livedata("run", "shop"))
            bench.expect(0, 0, 0)
        added = (size(bench) - first) / RUNS / 1024
        report.figure(28, added, f"{RUNS} Runs, {size(bench) - first} bytes")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
