"""Goals 62 and 63: a folder of 100 sources, planned and applied, as whole processes.

python -m benchmarks.apply [-n 5]

Each source has a schedule, a notice and a share. What is planned and applied are all of them new,
all of them mended, and none of them changed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.goals import Report
from benchmarks.pair import Command, compiled, once
from benchmarks.stage import argument_parser, program
from livedata.formats.source_toml import write_source
from tests.made import declared

SOURCES = 100
TABLES = """
[schedule]
cron = "0 6 * * *"
status = "active"

[[notice]]
name = "{name}"
command = "cat"
on = "changes"
when = ["price falls by 10%"]

[[share]]
label = "sheet"
columns = "sku,price"
"""


def write(folder: Path, selector: str) -> None:
    """Write the sources, which find their items by a selector."""
    for number in range(SOURCES):
        name = f"shop {number:03}"
        text = write_source(declared(name)).replace('"li"', f'"{selector}"')
        (folder / f"{number:03}.toml").write_text(text + TABLES.format(name=name))


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    n = argument_parser(__doc__, 5).parse_args().n
    compiled()
    report = Report()
    took: dict[tuple[str, str], list[float]] = {}
    for _ in range(n):
        with TemporaryDirectory() as home:
            folder = Path(home) / "sources"
            folder.mkdir()
            apply: list[str | Path] = [program("livedata"), "apply", folder]
            for selector, state, changes in (
                ("li", "new", True),
                ("li.product", "mended", True),
                ("li.product", "the same", False),
            ):
                write(folder, selector)
                env = {"LIVEDATA_HOME": home}
                plan = Command([*apply, "--plan"], env=env, exits=10 if changes else 0)
                took.setdefault((state, "plan"), []).append(once(plan).cpu)
                took.setdefault((state, "apply"), []).append(once(Command(apply, env=env)).cpu)
    for (state, what), seconds in took.items():
        report.figure(62 if what == "plan" else 63, median(seconds), f"{SOURCES} sources, {state}")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
