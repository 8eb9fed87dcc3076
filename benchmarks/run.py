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


def spider(bench: Stage, scrapy: Path) -> Command:
    """The command of the plain spider, which writes its items to a file."""
    return Command(
        (
            *(scrapy, "runspider", SPIDER, "-O", items(bench)),
            *("-s", "LOG_LEVEL=ERROR", "-a", f"url={bench.served.url}"),
        )
    )


def items(bench: Stage) -> Path:
    """The file that the spider writes."""
    return bench.folder / "items.jsonl"


def then(first: Command, *second: str | Path) -> Command:
    """A command that runs `first` and, if that succeeds, `second`."""
    parts = (shlex.join(map(str, part)) for part in (first.args, second))
    return Command(("sh", "-c", " && ".join(parts)))


def first_runs(bench: Stage, plain: Command, report: Report, n: int) -> None:
    """Measure goals 1, 6 and 2."""
    first = bench.livedata("run", "shop", before=lambda: bench.put(bench.empty))
    pair = compare(first, plain, n)
    bench.expect(1000, 0, 0)
    # A fast figure of a spider that stopped early would say nothing.
    assert len(items(bench).read_text().splitlines()) == shop.PAGES * shop.PER_PAGE
    report.pair(1, pair)
    report.figure(6, pair.ratio.peak, f"{pair.a.peak:.0f} MiB against {pair.b.peak:.0f} MiB")
    upsert = (
        program("sqlite-utils"),
        "upsert",
        bench.folder / "upserted.db",
        "items",
        items(bench),
    )
    report.pair(2, compare(first, then(plain, *upsert, "--nl", "--pk", "sku"), n))


def against_dlt(bench: Stage, plain: Command, report: Report, n: int, python: str | None) -> None:
    """Measure goal 3, if there is a Python that has dlt."""
    if python is None:
        print("  3  left out: --dlt-python names a Python that has dlt")
        return
    first = bench.livedata("run", "shop", before=lambda: bench.put(bench.empty))
    load = then(plain, python, ROOT / "benchmarks" / "dlt_load.py", items(bench), bench.folder)
    # Telemetry would be network traffic within the time that is measured.
    quiet = {"RUNTIME__DLTHUB_TELEMETRY": "false", "RUNTIME__LOG_LEVEL": "ERROR"}
    report.pair(3, compare(first, Command(load.args, env=quiet), n))


def later_runs(bench: Stage, plain: Command, report: Report, n: int) -> None:
    """Measure goals 4 and 5."""
    again = bench.livedata("run", "shop", before=lambda: bench.put(bench.full))
    pair = compare(again, plain, n)
    bench.expect(0, 0, 0)
    report.pair(4, pair)
    bench.served.show(1)
    pair = compare(again, plain, n)
    bench.expect(0, shop.CHANGED, shop.GONE)
    report.pair(5, pair)


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__)
    parser.add_argument("--dlt-python", metavar="PYTHON", help="a Python that has dlt, for goal 3")
    parser.add_argument(
        "--scrapy", metavar="SCRAPY", type=Path, help="the scrapy of another environment"
    )
    options = parser.parse_args()
    report = Report()
    with stage() as bench:
        plain = spider(bench, options.scrapy or program("scrapy"))
        once(plain)  # a broken environment shows now, and not after half an hour
        first_runs(bench, plain, report, options.n)
        against_dlt(bench, plain, report, options.n, options.dlt_python)
        later_runs(bench, plain, report, options.n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
