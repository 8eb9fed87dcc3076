"""Goals 38 and 39: commands on PostgreSQL against the same on SQLite, as whole processes.

python -m benchmarks.postgres [-n 11]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import shop
from benchmarks.databases import LEFT_OUT, has_server
from benchmarks.goals import Report
from benchmarks.pair import Command, compare, once
from benchmarks.stage import Stage, argument_parser, stage
from tests.databases import Server, running_server


def on(bench: Stage, url: Callable[[], str], *words: str | Path) -> Command:
    """A command of livedata on the store of a server; `url` is asked before each time."""
    home = bench.folder / "on a server"
    home.mkdir(exist_ok=True)

    def before() -> None:
        (home / "config.toml").write_text(f'database_url = "{url()}"\n')

    plain = bench.livedata(*words)
    return Command(plain.args, before, {**plain.env, "LIVEDATA_HOME": str(home)})


def measure(bench: Stage, server: Server, report: Report, n: int) -> None:
    """Measure a first Run, and a question."""
    bench.put(bench.empty)  # with it the declaration is written
    empty = server.create()
    once(on(bench, lambda: server.url(empty), "dataset", "create", bench.folder / "source.toml"))

    def copy() -> str:
        return server.url(server.create(f"TEMPLATE {empty}"))

    first = bench.livedata("run", "shop", before=lambda: bench.put(bench.empty))
    pair = compare(on(bench, copy, "run", "shop"), first, n)
    bench.expect(shop.PAGES * shop.PER_PAGE, 0, 0)
    report.pair(38, pair)
    full = copy()
    once(on(bench, lambda: full, "run", "shop"))
    words = ("changes", "shop", "--limit", "100", "--json")
    report.pair(39, compare(on(bench, lambda: full, *words), bench.livedata(*words), n))


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    options = argument_parser(__doc__).parse_args()
    if not has_server():
        print(f" 38  {LEFT_OUT}\n 39  {LEFT_OUT}")
        return
    report = Report()
    with stage() as bench, running_server() as server:
        measure(bench, server, report, options.n)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
