"""Goals 42 to 46: research Runs with a model that answers at once.

python -m benchmarks.research [-n 7]
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks import makers
from benchmarks.goals import Report
from benchmarks.pair import ROOT, Command, compare, compiled, once
from benchmarks.stage import STORE, argument_parser, program

if TYPE_CHECKING:
    from collections.abc import Iterator

SPIDER = ROOT / "benchmarks" / "asking_spider.py"
PAGES, WINDOWS = 20, 65
DATASET = "makers"


@dataclass(frozen=True)
class Stage:
    """A folder with a home in which livedata runs, beside the served makers."""

    folder: Path
    served: makers.Served

    @property
    def store(self) -> Path:
        """The store of the home."""
        return self.folder / STORE

    def livedata(self, *args: str | Path, empty: Path | None = None) -> Command:
        """A command of livedata, each time in the home with the store `empty` if there is one."""
        env = {
            "LIVEDATA_HOME": str(self.folder),
            "LIVEDATA_ALLOW_HOSTS": self.served.host,
            "LIVEDATA_MODEL": "scripted",
            "LIVEDATA_MODEL_BASE_URL": self.served.model,
            "LIVEDATA_SEARCH": "searxng",
            "LIVEDATA_SEARCH_URL": self.served.search,
        }
        before = (lambda: None) if empty is None else lambda: self._put(empty)
        return Command((program("livedata"), *args), before, env)

    def run(self, empty: Path | None = None) -> Command:
        """A Run of the makers."""
        return self.livedata("run", DATASET, empty=empty)

    def created(self, urls: Sequence[str]) -> Path:
        """A store with a dataset of these pages, else of what a search finds, before any Run."""
        plan = self.folder / "plan.toml"
        plan.write_text(makers.plan())
        self.store.unlink(missing_ok=True)
        named = [part for url in urls for part in ("--url", url)]
        limits = ("--max-tokens", "50000000")
        create = ("research", "create", "--name", DATASET, "--plan", str(plan), *named)
        once(self.livedata(*create, *limits))
        empty = self.folder / "empty.db"
        shutil.copyfile(self.store, empty)
        return empty

    def expect(self, rows: int, windows: int) -> None:
        """Assert that the last Run succeeded with so many new rows, and asked so many windows."""
        # The figure of a Run that did no work would be a very good one.
        with closing(sqlite3.connect(self.store)) as store:
            run, *outcome = store.execute(
                "SELECT id, status, new_rows FROM runs ORDER BY queued_at DESC LIMIT 1"
            ).fetchone()
            calls = "SELECT count(*) FROM model_calls WHERE run_id = ? AND phase = 'extract'"
            asked = store.execute(calls, (run,)).fetchone()[0]
        assert (*outcome, asked) == ("succeeded", rows, windows), (outcome, asked)

    def spider(self, answers: Path) -> Command:
        """The plain spider, which writes the answers to a file."""
        urls = ",".join(self.served.urls(PAGES))
        arguments = ("-a", f"urls={urls}", "-a", f"model={self.served.model}")
        run = (program("scrapy"), "runspider", SPIDER, "-O", answers)
        return Command((*run, "-s", "LOG_LEVEL=ERROR", *arguments))

    def _put(self, store: Path) -> None:
        shutil.copyfile(store, self.store)


@contextmanager
def stage() -> Iterator[Stage]:
    """Set up a stage for the block, with all packages compiled."""
    compiled()
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder, makers.serve() as served:
        yield Stage(Path(folder), served)


def whole_runs(bench: Stage, report: Report, n: int) -> None:
    """Measure goals 42 and 43."""
    answers = bench.folder / "rows.jsonl"
    pair = compare(bench.run(bench.created(bench.served.urls(PAGES))), bench.spider(answers), n)
    bench.expect(PAGES * makers.PER_PAGE, WINDOWS)
    lines = answers.read_text().splitlines()
    assert len(lines) == WINDOWS, len(lines)
    assert len(_names(lines)) == PAGES * makers.PER_PAGE
    report.pair(42, pair, f"{WINDOWS} windows")
    report.figure(43, pair.a.peak, f"{pair.b.peak:.0f} MiB of the spider")


def _names(lines: Sequence[str]) -> set[str]:
    return {row["name"] for line in lines for row in json.loads(line)["rows"]}


def explained(bench: Stage, report: Report, n: int) -> None:
    """Measure goal 44, of the last Run."""
    from livedata.model import ids
    from livedata.services import diagnostics
    from livedata.store.database.store import Store

    with closing(Store(f"sqlite:///{bench.store}")) as store:
        with store.reading() as reader:
            run = ids.RunId(reader.value("SELECT id FROM runs"))
        took = []
        for _ in range(n + 1):
            start = time.process_time()
            answer = diagnostics.diagnostics(store, "local", run, summary=True)
            took.append(time.process_time() - start)
    entities = answer["summary"]["totals"]["entities"]
    report.figure(44, median(took[1:]) * 1000, f"{entities} entities; {took[0] * 1000:.0f} ms cold")


def sizes(bench: Stage, report: Report) -> None:
    """Measure goals 45 and 46."""
    bench.created(())
    size = [bench.store.stat().st_size]
    new = [makers.PAGES * makers.PER_PAGE, 0, 0]
    windows = [WINDOWS + 3 * (makers.PAGES - PAGES), 0, 0]
    for rows, asked in zip(new, windows, strict=True):
        once(bench.run())
        bench.expect(rows, asked)
        size.append(bench.store.stat().st_size)
    first, second, third = (after - before for before, after in pairwise(size))
    report.figure(45, first / 2**20, f"{new[0]} rows, {first >> 10} KiB")
    report.figure(46, second / 1024, f"{third / 1024:.0f} KiB by the Run after it")


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    n = argument_parser(__doc__, 7).parse_args().n
    report = Report()
    with stage() as bench:
        sizes(bench, report)
        whole_runs(bench, report, n)
        explained(bench, report, n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
