"""Goals 56 to 58: what it costs to start for an agent, to answer it, and how long answers are.

python -m benchmarks.agents [-n 11]

The start is that of a process which is asked once for 50 rows, against the import of the SDK alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.goals import Report
from benchmarks.history import OWNER, build
from benchmarks.pair import compiled, environment
from benchmarks.stage import STORE, argument_parser
from benchmarks.within import cpu, in_turn, url_of
from livedata.mcp.access import DatasetAccess
from livedata.mcp.answers import compact
from livedata.mcp.tools import READING, Tool
from livedata.store.database.store import Database

CHANGES = 1_000
REVISION = "2025-11-25"
ASKED: Mapping[str, object] = {"dataset": "history", "limit": 50}
QUESTIONS: Mapping[str, Mapping[str, object]] = {
    "50 rows": {},
    "50 rows of those that meet a clause": {"where": ["price < 500"]},
    "50 rows by price": {"order": "price desc"},
    "50 rows as they were": {"at": "1500"},
}


def first_answer() -> bytes:
    """What an agent writes before its first answer."""
    client = {"clientInfo": {"name": "agent", "version": "1"}, "capabilities": {}}
    calls: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": REVISION, **client}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "query_rows", "arguments": ASKED}},
    ]
    return "".join(f"{json.dumps({'jsonrpc': '2.0', **call})}\n" for call in calls).encode()


def measured(command: Sequence[str], home: Path, written: bytes = b"") -> float:
    """The CPU seconds of a process; if something is written to it, until its second answer."""
    before = getrusage(RUSAGE_CHILDREN)
    with subprocess.Popen(
        [sys.executable, *command],
        env={**environment(), "LIVEDATA_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if written:
            process.stdin.write(written)
            process.stdin.flush()
            _, answer = (json.loads(process.stdout.readline()) for _ in range(2))
            assert answer["result"]["structuredContent"]["rows"]
        process.stdin.close()
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def named(name: str) -> Tool:
    """The tool of a name."""
    return next(tool for tool in READING if tool.name == name)


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    options = argument_parser(__doc__, 11).parse_args()
    report = Report()
    compiled()
    with TemporaryDirectory(prefix="livedata-benchmarks-") as folder:
        home = Path(folder)
        build(home / STORE, CHANGES)
        start = partial(measured, ["-m", "livedata", "mcp"], home, first_answer())
        sdk = partial(measured, ["-c", "import mcp.server"], home)
        ours, theirs, ratio = in_turn(options.n, start, sdk)
        report.figure(56, ratio, f"{ours:.3f} s against {theirs:.3f} s")
        with closing(Database(url_of(home / STORE))) as database:
            access = DatasetAccess.of(database, OWNER, "UTC", [])
            for name, more in QUESTIONS.items():
                ask = partial(named("query_rows").call, access, {**ASKED, **more})
                spent = median(cpu(ask) for _ in range(options.n + 1)) * 1000
                if more:
                    report.note(f"{name}: {spent:.1f} ms")
                else:
                    report.figure(57, spent, f"{name} of a table of 1000")
            four: Mapping[str, object] = {
                "columns": ["sku", "title", "price", "stock"],
                "limit": 100,
            }
            answer = compact(named("query_rows").call(access, {**ASKED, **four}))
            report.figure(58, len(answer) / 1000, "100 rows of 4 columns")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
