"""Goals 1 to 6: whole Runs of the shop against a hand-written Scrapy spider, as whole processes.

python -m benchmarks.run [-n 11] [--dlt-python PYTHON] [--scrapy SCRAPY]
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from benchmarks import shop
from benchmarks.goals import Report
from benchmarks.pair import ROOT, Command, compare, once
from benchmarks.stage import SPIDER, Stage, argument_parser, program, stage


def spider(at: Stage, scrapy: Path) -> Command:
    """The plain spider, which writes what it finds to a file."""
    return Command(
        (
            *(scrapy, "runspider", SPIDER, "-O", items(at)),
            *("-s", "LOG_LEVEL=ERROR", "-a", f"url={at.served.url}"),
        )
    )


def items(at: Stage) -> Path:
    """What the spider writes."""
    return at.folder / "items.jsonl"


def then(first: Command, *second: str | Path) -> Command:
    """One command, and where it ends well the next."""
    parts = (shlex.join(map(str, part)) for part in (first.args, second))
    return Command(("sh", "-c", " && ".join(parts)))


def first_runs(at: Stage, plain: Command, report: Report, n: int) -> None:
    """Goals 1, 6 and 2."""
    first = at.livedata("run", "shop", before=lambda: at.put(at.empty))
    pair = compare(first, plain, n)
    at.expect(1000, 0, 0)
    assert len(items(at).read_text().splitlines()) == shop.PAGES * shop.PER_PAGE
    report.pair(1, pair)
    report.figure(6, pair.ratio.peak, f"{pair.a.peak:.0f} MiB against {pair.b.peak:.0f} MiB")
    upsert = (program("sqlite-utils"), "upsert", at.folder / "upserted.db", "items", items(at))
    report.pair(2, compare(first, then(plain, *upsert, "--nl", "--pk", "sku"), n))


def against_dlt(at: Stage, plain: Command, report: Report, n: int, python: str | None) -> None:
    """Goal 3, where there is a Python that has dlt."""
    if python is None:
        print("  3  left out: --dlt-python names a Python that has dlt")
        return
    first = at.livedata("run", "shop", before=lambda: at.put(at.empty))
    load = then(plain, python, ROOT / "benchmarks" / "dlt_load.py", items(at), at.folder)
    quiet = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
    report.pair(3, compare(first, Command(load.args, env=quiet), n))


def later_runs(at: Stage, plain: Command, report: Report, n: int) -> None:
    """Goals 4 and 5."""
    again = at.livedata("run", "shop", before=lambda: at.put(at.full))
    pair = compare(again, plain, n)
    at.expect(0, 0, 0)
    report.pair(4, pair)
    at.served.show(1)
    pair = compare(again, plain, n)
    at.expect(0, shop.CHANGED, shop.GONE)
    report.pair(5, pair)


def main() -> None:
    """Measure; exit with 1 where a bound is passed."""
    parser = argument_parser(__doc__)
    parser.add_argument("--dlt-python", metavar="PYTHON", help="a Python that has dlt, for goal 3")
    parser.add_argument(
        "--scrapy", metavar="SCRAPY", type=Path, help="the scrapy of another environment"
    )
    asked = parser.parse_args()
    report = Report()
    with stage() as at:
        plain = spider(at, asked.scrapy or program("scrapy"))
        once(plain)
        first_runs(at, plain, report, asked.n)
        against_dlt(at, plain, report, asked.n, asked.dlt_python)
        later_runs(at, plain, report, asked.n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
