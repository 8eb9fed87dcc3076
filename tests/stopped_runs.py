"""Commands that are told to stop at a random moment, while they have a Run: what is lost of it.

python -m tests.stopped_runs                # each command 100 times; exit code 1 if wrong
python -m tests.stopped_runs 20 worker      # so many times, one command

SIGTERM and SIGINT in turn, at a random moment: of two times one is counted from the start of the
command, the other from the Run's first request.
Then the Run is let end, if it has not: there is one, it is charged once, and its rows are there.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import click

from livedata.model import ids
from livedata.services import interruptions, queries, runs
from livedata.services.audit.check import check_store
from spiders.crawl.engine import crawl_engine
from tests.crawling import Crawling, shop_source
from tests.made import make_store, meet_owner
from tests.shop import shop, some_items
from tests.site import Answer, Handler, Request, Site

EARLIEST, LATEST = 0.5, 4.0
"""The seconds after its start between which a command is told to stop."""
# Before the first, Python itself is interrupted, which has not read a line of livedata yet.
GRACE = 10.0
CRAWLING = 1.2
"""The seconds after the first request of a Run by which it has nearly always ended."""
ANSWERING = 0.3
"""The seconds that a page takes."""
PAUSE = Event()
"""Never set: what is waited for here is time."""
ITEMS = 7
OPEN = ("queued", "running")
WORDS: Mapping[str, Sequence[str]] = {
    "run": ("run",),
    "worker": ("worker", "--crawlers", "1", "--no-schedules"),
    "serve": ("serve", "--port", "0", "--crawlers", "1", "--no-schedules"),
}
# Before a command listens to a signal, it ends as any program does: a shell says 143 and 130.
_STAYING = {
    signal.SIGTERM: (0, -signal.SIGTERM),
    signal.SIGINT: (0, 130, -signal.SIGINT),
}
_RUNNING = {
    # Given back, or over already.
    signal.SIGTERM: (1, 0, -signal.SIGTERM),
    # Cancelled, over already, or not begun.
    signal.SIGINT: (3, 0, 130, -signal.SIGINT),
}
CODES = {"run": _RUNNING, "worker": _STAYING, "serve": _STAYING}
"""Command -> signal -> the exit codes of rules 12.2."""


@dataclass
class Stopping:
    """One command that is stopped again and again, in a store of its own."""

    command: str
    crawling: Crawling
    site: Site
    home: Path
    ends: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def play(self, times: int) -> None:
        """Stop the command so often, and judge what it leaves each time."""
        for path, body in shop(some_items(ITEMS)).items():
            self.site.route(path, slowly(body))
        for number in range(times):
            name = f"shop{number}"
            source = {**shop_source(self.site.at("/page/1.html")), "name": name}
            dataset = self.crawling.create(source, allow=self.site.host)
            run, _ = runs.enqueue(self.crawling.store, "local", dataset)
            told = (signal.SIGTERM, signal.SIGINT)[number % 2]
            self._stop(name, told, crawls=number % 4 > 1)
            self._judge(name, dataset, ids.RunId(ids.raw_id(run)))
        self.wrong += check_store(self.crawling.store).problems

    def lines(self) -> Iterator[str]:
        """What a person wants to know."""
        for end, number in sorted(self.ends.items()):
            yield f"{self.command}: {number:3} x {end}"
        yield f"{self.command}: the slowest stop took {self.slowest:.1f} s"
        yield from self.wrong or [f"{self.command}: each Run ended once and was charged once"]

    def _stop(self, name: str, told: signal.Signals, *, crawls: bool) -> None:
        """Start the command, and tell it to stop at some moment, or once it `crawls`."""
        asked = len(self.site.paths)
        words = [*WORDS[self.command], *([name] if self.command == "run" else [])]
        allowed = {"LIVEDATA_ALLOW_HOSTS": self.site.host}
        environ = {**os.environ, "LIVEDATA_HOME": str(self.home), **allowed}
        with (self.home / "log").open("ab") as log:
            command = [sys.executable, "-m", "livedata", *words]
            process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
        began = time.monotonic()
        if crawls:
            while len(self.site.paths) == asked and time.monotonic() - began < 2 * GRACE:
                PAUSE.wait(0.01)
        PAUSE.wait(random.uniform(0, CRAWLING) if crawls else random.uniform(EARLIEST, LATEST))
        after, began = time.monotonic() - began, time.monotonic()
        process.send_signal(told)
        try:
            code = process.wait(2 * GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        took = time.monotonic() - began
        self.slowest = max(self.slowest, took)
        self.ends[f"{told.name} -> {code}"] += 1
        if code not in CODES[self.command][told] or took > GRACE:
            self.wrong.append(
                f"{self.command} {name}: {told.name} after {after:.2f} s: {code} in {took:.1f} s"
            )

    def _judge(self, name: str, dataset: ids.DatasetId, run: ids.RunId) -> None:
        """Let the Run end, and note what is wrong with it."""
        store = self.crawling.store
        end = time.monotonic() + GRACE
        while self._status(run) == "running" and time.monotonic() < end:
            interruptions.reap_expired_leases(store)
            PAUSE.wait(0.1)
        left = self._status(run)
        if left in OPEN:
            self.crawling.run(dataset, allow=self.site.host)
        status = self._status(run)
        self.ends[f"Run left {left}, in the end {status}"] += 1
        accepted = status == "succeeded"
        expected = (1, int(accepted), ITEMS * accepted)
        with store.reading() as reader:
            seen = reader.row(
                "SELECT (SELECT count(*) FROM runs WHERE dataset_id = :dataset), "
                "(SELECT count(*) FROM ledger WHERE run_id = :run), "
                "(SELECT count(*) FROM rows WHERE dataset_id = :dataset)",
                dataset=dataset,
                run=run,
            )
        if seen != expected or status not in ("succeeded", "failed"):
            self.wrong.append(f"{self.command} {name}: {status}, Runs, charges, rows: {seen}")
        if status == "failed" and self.command != "run":
            self.wrong.append(f"{self.command} {name}: the Run failed")

    def _status(self, run: ids.RunId) -> str:
        return queries.run(self.crawling.store, "local", run)["status"]


def slowly(body: str) -> Handler:
    """A page that takes a moment."""

    def handle(request: Request) -> Answer:
        request.wait(ANSWERING)
        return Answer(200, body)

    return handle


def main(words: Sequence[str]) -> bool:
    """Print what was seen; whether anything is wrong."""
    # What is started in the background has SIGINT ignored, and so would all that it starts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    times, *commands = words or ("100",)
    failed = False
    with crawl_engine() as engine:
        for command in commands or WORDS:
            with (
                TemporaryDirectory() as folder,
                closing(make_store(Path(folder))) as store,
                Site() as site,
            ):
                meet_owner(store, "local", 10_000)
                stopping = Stopping(command, Crawling(engine, store), site, Path(folder))
                stopping.play(int(times))
                for line in stopping.lines():
                    click.echo(line)
                if "Traceback" in (log := (Path(folder) / "log").read_text()):
                    click.echo(log[log.index("Traceback") :][:3000])
                failed |= bool(stopping.wrong)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
