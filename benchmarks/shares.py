"""Goals 53 to 55: a table of 100,000 rows at an address, and what it costs to ask in vain.

python -m benchmarks.shares [-n 500] [--rows 100000] [--folder FOLDER]
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmarks.asking import HOST, PATIENCE, free_port, serving
from benchmarks.goals import Report
from benchmarks.history import build
from benchmarks.pair import environment
from benchmarks.stage import STORE, argument_parser, program

FORMS = ("csv", "json", "jsonl", "parquet", "xlsx", "changes.csv")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A server, and the address of a table there."""

    process: int
    port: int
    path: str

    def ask(self, form: str, query: str = "", tag: str = "") -> tuple[float, int, str]:
        """A whole answer: the seconds until its first byte, its length, and its entity tag."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        path = f"{self.path.removesuffix('csv')}{form}{query}"
        began = time.perf_counter()
        connection.request("GET", path, headers={"If-None-Match": tag} if tag else {})
        answer = connection.getresponse()
        length = len(answer.read(1))
        first = time.perf_counter() - began
        while piece := answer.read(1 << 20):
            length += len(piece)
        connection.close()
        assert answer.status == (304 if tag else 200), (path, answer.status)
        return first, length, answer.headers["ETag"]

    def cpu(self) -> float:
        """The CPU seconds that the server has used."""
        numbers = Path(f"/proc/{self.process}/stat").read_text().rpartition(")")[2].split()
        return (int(numbers[11]) + int(numbers[12])) / _TICKS

    def memory(self, name: str) -> float:
        """What the kernel says of its memory, in MiB."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

    def forget_peak(self) -> None:
        """Let the peak begin with what there is now."""
        Path(f"/proc/{self.process}/clear_refs").write_text("5")


def unchanged(server: Server, report: Report, n: int) -> None:
    """Measure goal 53."""
    _, _, tag = server.ask("csv")
    began = server.cpu()
    for _ in range(n):
        server.ask("csv", tag=tag)
    spent = (server.cpu() - began) / n * 1000
    report.figure(53, spent, f"of {n} in new connections")


def whole(server: Server, report: Report) -> None:
    """Measure goals 54 and 55."""
    for form in FORMS:
        query = "" if "changes" in form else "?gone=1"
        server.ask(form, query)  # what a form needs is imported once
        idle = server.memory("VmRSS")
        server.forget_peak()
        began = server.cpu()
        answers = [server.ask(form, query) for _ in range(3)]
        seconds, length = median(answer[0] for answer in answers), answers[0][1]
        spent = (server.cpu() - began) / len(answers)
        detail = f".{form}: {length / 1e6:.1f} MB in {spent:.2f} s of CPU"
        # A file is written before it is sent, as its heading or its end says what is in it.
        if form in {"parquet", "xlsx"}:
            report.note(f"{detail}, first byte after {seconds * 1000:.0f} ms")
        else:
            report.figure(54, seconds * 1000, detail)
        report.figure(55, server.memory("VmHWM") - idle, detail)


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argument_parser(__doc__, 500)
    parser.add_argument("--rows", type=int, default=100_000, help="fewer, for a quick look")
    parser.add_argument("--folder", type=Path, help="where the store is kept")
    options = parser.parse_args()
    report = Report()
    with ExitStack() as stack:
        folder = options.folder or Path(
            stack.enter_context(TemporaryDirectory(prefix="livedata-benchmarks-"))
        )
        home = folder / f"{options.rows} rows"
        if not (home / STORE).exists():
            build(home / STORE, 1000, options.rows)
        port, env = free_port(), {"LIVEDATA_HOME": str(home)}
        command = (program("livedata"), "serve", "--no-worker", "--port", str(port))
        process = stack.enter_context(serving(command, port, home / "serve.log", env, "/healthz"))
        report_of(Server(process, port, _share(env)), report, options.n)
    sys.exit(report.over)


def report_of(server: Server, report: Report, n: int) -> None:
    """Measure all goals."""
    unchanged(server, report, n)
    whole(server, report)


def _share(env: dict[str, str]) -> str:
    command = (program("livedata"), "share", "add", "wide", "--json")
    shared = subprocess.run(command, env=environment() | env, capture_output=True, check=True)
    address: str = json.loads(shared.stdout)["address"]
    return urlsplit(address).path


if __name__ == "__main__":
    main()
