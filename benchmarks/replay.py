"""Goal 41: replaying a research Run of 300 answers from its tape, as a whole process.

python -m benchmarks.replay [-n 7]
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from benchmarks.goals import Report
from benchmarks.stage import argument_parser, program
from livedata.model.research.answers import PageText
from livedata.model.research.recipe import ResearchLimits
from livedata.model.research.record import Memory
from livedata.research.asking.windows import LONGEST
from livedata.research.harness import research
from livedata.research.replay.tape import dump
from tests.research.ports import MemoryRecorder, page, ports, recipe
from tests.research.test_harness import row

PAGES = 25
ROWS = 38
"""The rows of a page, which has four windows; each row stands on two pages."""
WORDS = " of words that say nothing of makers"


def pages() -> list[PageText]:
    """Pages of 60,000 characters each."""
    return [
        page(
            f"https://makers.example/{number}", "\n".join(_line(number, row) for row in range(ROWS))
        )
        for number in range(PAGES)
    ]


def _line(number: int, row: int) -> str:
    maker = (number // 2) * ROWS + row
    return f"Maker {maker:05} of Bern, founded {1900 + row}{WORDS * 43}"


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """What a model answers: each maker of a window; a long window has more of them."""
    text = message["page"]["text"]
    quotes = [line[:36] for line in text.split("\n") if line.startswith("Maker ")]
    rows = [
        row(quote[:11], quote, City=("Bern", quote), Founded=(quote[29:33], quote))
        for quote in quotes
    ]
    return {"rows": rows, "hasMore": len(text) > LONGEST // 2 + 2_000}


def write_tape(file: Path) -> int:
    """The tape of a Run over all pages; the number of its answers."""
    read = pages()
    asked = recipe(
        "City",
        "Founded",
        urls=[each.url for each in read],
        limits=ResearchLimits(tokens=100_000_000),
    )
    recorder = MemoryRecorder()
    outcome = asyncio.run(research(asked, Memory(), ports(answer, read, recorder=recorder)))
    tape = recorder.tape(asked, Memory(), outcome)
    file.write_bytes(b"".join(dump(tape)))
    return sum(artifact.kind == "extraction.output" for artifact in tape.artifacts)


def main() -> None:
    """Measure, and exit with 1 if the figure is over its bound."""
    n = argument_parser(__doc__, 7).parse_args().n
    report = Report()
    with TemporaryDirectory() as folder:
        file = Path(folder) / "run.tape"
        answers = write_tape(file)
        command = [str(program("livedata")), "research", "replay", str(file), "--json"]
        took = []
        for _ in range(n):
            start = time.perf_counter()
            done = subprocess.run(command, check=True, capture_output=True)
            took.append(time.perf_counter() - start)
        rows = len(orjson.loads(done.stdout)["rows"])
        size = file.stat().st_size / 2**20
        report.figure(41, median(took), f"{answers} answers, {rows} rows, {size:.1f} MiB of tape")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
