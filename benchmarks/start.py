"""Goals 12, 13, 14, 30 and 47: commands that must start at once, as whole processes.

python -m benchmarks.start [-n 21]
"""

from __future__ import annotations

import sys

from benchmarks import shop
from benchmarks.goals import Report
from benchmarks.pair import Command, compare
from benchmarks.stage import STORE, argument_parser, program, stage


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    n = argument_parser(__doc__, 21).parse_args().n
    report = Report()
    # The least that a command line can cost: Python, and the library that it is built with.
    click = Command((sys.executable, "-c", "import click"))
    with stage() as bench:
        bench.put(bench.full)
        report.pair(12, compare(bench.livedata("--help"), click, n))
        report.pair(13, compare(bench.livedata("--version"), click, n), "--version")
        report.pair(13, compare(bench.livedata("nothing", exits=2), click, n), "a usage error")
        sqlite_utils = (program("sqlite-utils"), "rows", bench.home / STORE, "--limit", "100")
        changes = bench.livedata("changes", "shop", "--limit", "100", "--json")
        of_changes = compare(changes, Command((*sqlite_utils, "revisions")), n)
        report.pair(14, of_changes, "changes --limit 100 --json")
        # The same value again is an edit too: it writes a revision, as every accepted edit does.
        edit = bench.livedata("rows", "edit", "shop", "GT-00001", "price=9.5")
        report.pair(30, compare(edit, changes, n))
        rows = bench.livedata("rows", "list", "shop", "--limit", "100")
        report.pair(14, compare(rows, Command((*sqlite_utils, "rows")), n), "rows list --limit 100")
        # It tries what it proposes, so it reads two pages more.
        page = f"{bench.served.origin}{shop.path(1)}"
        looked = bench.livedata("init", page, "--force", "-o", bench.folder / "new.toml")
        preview = bench.livedata("preview", bench.folder / "source.toml")
        report.pair(47, compare(looked, preview, n))
    sys.exit(report.over)


if __name__ == "__main__":
    main()
