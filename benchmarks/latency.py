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
AT_ONCE = 2


def linked(at: Stage, report: Report, n: int) -> None:
    """Goal 10: one page after the other, because only a page knows the next."""
    first = at.livedata("run", "shop", before=lambda: at.put(at.empty))
    told(at, report, 10, compare(first, spider(at, program("scrapy")), n))


def numbered(at: Stage, report: Report, n: int) -> None:
    """Goal 11: both keep two requests under way; only livedata has to find out where the end is."""
    plain = spider(at, program("scrapy")).args
    at_once = ("-a", f"pages={shop.PAGES}", "-s", f"CONCURRENT_REQUESTS={AT_ONCE}")
    empty = without_rows(at)
    first = at.livedata("run", "pages", before=lambda: at.put(empty))
    told(at, report, 11, compare(first, Command((*plain, *at_once)), n))


def without_rows(at: Stage) -> Path:
    """A store that knows the shop by its numbered pages, and has had no Run."""
    source = at.folder / "pages.toml"
    source.write_text(shop.numbered(at.served.origin))
    at.put(at.empty)
    once(at.livedata("dataset", "create", source))
    kept = at.folder / "pages.db"
    shutil.copyfile(at.home / STORE, kept)
    return kept


def told(at: Stage, report: Report, number: int, pair: Pair) -> None:
    """Both did all of the work, and how long it took them."""
    at.expect(shop.PAGES * shop.PER_PAGE, 0, 0)
    assert len(items(at).read_text().splitlines()) == shop.PAGES * shop.PER_PAGE
    report.figure(number, pair.ratio.wall, f"{pair.a.wall:.2f} s against {pair.b.wall:.2f} s")


def main() -> None:
    """Measure; exit with 1 where a bound is passed."""
    asked = argument_parser(__doc__, n=5).parse_args()
    report = Report()
    with stage(DELAY) as at:
        linked(at, report, asked.n)
        numbered(at, report, asked.n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
