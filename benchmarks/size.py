"""Goals 27, 28 and 40: how large a store is after a first Run, and what unchanged Runs add to it.

python -m benchmarks.size
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import shop
from benchmarks.goals import Report
from benchmarks.pair import once
from benchmarks.stage import STORE, Stage, stage
from livedata.services.retention import forget_old
from livedata.store.database.store import Store
from tests.made import make_dataset, take

RUNS = 10
SMALL, SMALL_RUNS, ROWS = 10, 100, 20
"""So many datasets with so many Runs each of so many rows."""
AGED = 100 * 86_400 * 1_000_000
"""Longer than anything is kept that goes, in microseconds."""


def size(bench: Stage) -> int:
    """The size of the store in bytes."""
    # A command that ended well has put its write-ahead log into the store.
    assert not list(bench.home.glob(f"{STORE}-*"))
    return (bench.home / STORE).stat().st_size


def small(report: Report) -> None:
    """Measure goal 40."""
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
        file = Path(folder) / "livedata.db"
        with closing(Store(f"sqlite:///{file}")) as store:
            made = [make_dataset(store, name=f"d{number}") for number in range(SMALL)]
            items = [{"sku": f"K{number}", "title": f"Thing {number}"} for number in range(ROWS)]
            for dataset in made:
                take(store, dataset, items)
            before = packed(file)
            for dataset in made * SMALL_RUNS:
                take(store, dataset, items)
            runs = SMALL * SMALL_RUNS
            added = packed(file) - before
            report.figure("40a", added / runs, f"{runs} Runs of {SMALL} datasets, {added} bytes")
            with store.writing() as writer:
                for sql in AGE:
                    writer.execute(sql, aged=AGED)
            forget_old(store)
            left = packed(file) - before
            report.figure("40b", left / runs, f"{left} bytes after 100 days and `livedata prune`")


AGE = (
    "UPDATE runs SET queued_at = queued_at - :aged, completed_at = completed_at - :aged",
    "UPDATE runs SET started_at = started_at - :aged",
    "UPDATE attempts SET started_at = started_at - :aged, ended_at = ended_at - :aged",
)
"""Let all Runs be older."""


def packed(file: Path) -> int:
    """The bytes of a store without what is free in it."""
    with TemporaryDirectory() as folder, closing(sqlite3.connect(file)) as driver:
        copy = Path(folder) / "copy.db"
        driver.execute("VACUUM INTO ?", (str(copy),))
        return copy.stat().st_size


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
    small(report)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
