"""Goals 10 and 11: the wall time of first Runs of a shop that takes 50 ms for each answer.

python -m benchmarks.latency [-n 5]
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks import shop
from benchmarks.goals import Report
from benchmarks.pair import Command, Pair, compare, once
from benchmarks.run import items, spider
from benchmarks.stage import STORE, Stage, argument_parser, program, stage

DELAY = 0.05
AT_ONCE = 2  # the requests that livedata keeps in flight by default


def linked(bench: Stage, report: Report, n: int) -> None:
    """Measure goal 10: one page after the other, because only a page names the next one."""
    first = bench.livedata("run", "shop", before=lambda: bench.put(bench.empty))
    report_wall(bench, report, 10, compare(first, spider(bench, program("scrapy")), n))


def numbered(bench: Stage, report: Report, n: int) -> None:
    """Measure goal 11: both have two requests in flight; only livedata has to find the end."""
    plain = spider(bench, program("scrapy")).args
    at_once = ("-a", f"pages={shop.PAGES}", "-s", f"CONCURRENT_REQUESTS={AT_ONCE}")
    empty = without_rows(bench)
    first = bench.livedata("run", "pages", before=lambda: bench.put(empty))
    report_wall(bench, report, 11, compare(first, Command((*plain, *at_once)), n))


def without_rows(bench: Stage) -> Path:
    """A store whose dataset reads the shop by numbered pages, before its first Run."""
    source = bench.folder / "pages.toml"
    source.write_text(shop.numbered(bench.served.origin))
    bench.put(bench.empty)
    once(bench.livedata("dataset", "create", source))
    copy = bench.folder / "pages.db"
    shutil.copyfile(bench.home / STORE, copy)
    return copy


def report_wall(bench: Stage, report: Report, number: int, pair: Pair) -> None:
    """Report the wall times of a pair, after a check that both read all items."""
    bench.expect(shop.PAGES * shop.PER_PAGE, 0, 0)
    assert len(items(bench).read_text().splitlines()) == shop.PAGES * shop.PER_PAGE
    report.figure(number, pair.ratio.wall, f"{pair.a.wall:.2f} s against {pair.b.wall:.2f} s")


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    options = argument_parser(__doc__, n=5).parse_args()
    report = Report()
    with stage(DELAY) as bench:
        linked(bench, report, options.n)
        numbered(bench, report, options.n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
