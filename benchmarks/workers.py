"""Goals 31 to 37, 64 and 65: crawl workers and small Runs, on SQLite and on PostgreSQL.

python -m benchmarks.workers [--runs 1000] [--idle 60] [--asked 40] [--away]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.databases import LEFT_OUT, POSTGRES, Made, databases
from benchmarks.goals import Report
from benchmarks.pair import environment
from benchmarks.soak import declared, sites
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.ids import DatasetId, RunId
from livedata.model.requests import CreateDataset, UpdateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, runs
from livedata.store import queue
from livedata.store.database.statements import insert
from livedata.store.database.store import Store
from livedata.store.tables import metadata
from tests.relay import Relay

SITES = 100
AWAY = 3.0
"""The milliseconds to a server that is elsewhere, there and back."""
QUEUED = 5_000
TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 300.0
YEARLY = "0 6 1 1 *"
"""A schedule that is not due while this measures."""


def fill(hosts: Sequence[str], count: int, store: Store) -> None:
    """Make so many datasets of one page, one after the other on each site."""
    targets = TargetPolicy.parse(",".join(hosts))
    for number in range(count):
        body = read(CreateDataset, declared(f"http://{hosts[number % len(hosts)]}/{number}"))
        datasets.create(store, "local", body, targets, first_credits=1_000_000)


def all_datasets(store: Store) -> list[DatasetId]:
    """The datasets in the order in which they were made."""
    with store.reading() as reader:
        return [dataset for (dataset,) in reader.rows("SELECT id FROM datasets ORDER BY id")]


@contextmanager
def process(home: Path, hosts: Sequence[str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of Python in a home during the block."""
    env = environment() | {"LIVEDATA_HOME": str(home), "LIVEDATA_ALLOW_HOSTS": ",".join(hosts)}
    # A crawl worker stops at the end of its stdin, so the pipe must stay open.
    started = subprocess.Popen(
        [sys.executable, "-m", *words],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        started.terminate()
        started.communicate()


def cpu(pid: int) -> float:
    """The CPU seconds of a process until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def wait(store: Store, sql: str, wanted: int) -> None:
    """Wait until a question has an answer. Raises TimeoutError."""
    end = time.monotonic() + PATIENCE
    while True:
        with store.reading() as reader:
            if reader.value(sql) == wanted:
                return
        if time.monotonic() > end:
            raise TimeoutError(sql)
        time.sleep(0.05)


def ready(
    store: Store, hosts: Sequence[str], home: Path, stack: ExitStack, count: int
) -> list[int]:
    """So many crawl workers that have begun to work; their pids."""
    workers = [stack.enter_context(process(home, hosts, "spiders")) for _ in range(count)]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.readline()  # it says every second that it is not stuck
    # What is made for the first Runs is not measured: a worker executes thousands.
    for dataset in all_datasets(store)[: 4 * count]:
        runs.enqueue(store, "local", dataset)
    wait(store, "SELECT count(*) FROM runs WHERE status = 'succeeded'", 4 * count)
    time.sleep(1)
    return [worker.pid for worker in workers]


def throughput(
    made: Made, hosts: Sequence[str], count: int, workers: int, away: float = 0
) -> tuple[float, float]:
    """The milliseconds of wall time and of CPU in workers that a small Run takes.

    The server is so many milliseconds `away` from the workers, there and back.
    """
    with made.store() as store, ExitStack() as stack:
        if away:
            relay = stack.enter_context(Relay(store.url, away / 1000))
            made.name_store(relay.url)
        pids = ready(store, hosts, made.home, stack, workers)
        before = sum(map(cpu, pids))
        wanted = all_datasets(store)[4 * workers :][:count]
        # All at once: queueing them takes a second in which nothing else is to be measured.
        with store.writing() as writer:
            now = writer.now()
            sites_of = dict(_sites(store))
            for dataset in wanted:
                queue.add(writer, dataset, 1, sites_of[dataset], now)
            queue.call(writer)
        wait(store, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", 0)
        used = sum(map(cpu, pids)) - before
        with store.reading() as reader:
            row = reader.row(
                "SELECT min(started_at), max(completed_at), count(*) FROM runs "
                "WHERE queued_at = :now AND status = 'succeeded'",
                now=now,
            )
    assert row is not None
    first, last, succeeded = row
    assert succeeded == len(wanted), row
    return float(last - first) / 1000 / len(wanted), used * 1000 / len(wanted)


def _sites(store: Store) -> list[tuple[DatasetId, str]]:
    with store.reading() as reader:
        rows = reader.rows("SELECT id, name FROM datasets")
    return [(dataset, name.split("/")[2]) for dataset, name in rows]


def begun(made: Made, hosts: Sequence[str], asked: int) -> float:
    """The milliseconds from 202 to the begin of a Run by an idle worker, as a median."""
    with made.store() as store, ExitStack() as stack:
        ready(store, hosts, made.home, stack, 1)
        waited = []
        for dataset in all_datasets(store)[4:][:asked]:
            run, _ = runs.enqueue(store, "local", dataset)
            answered = ids.now()
            wait(store, "SELECT count(*) FROM runs WHERE status IN ('queued', 'running')", 0)
            with store.reading() as reader:
                sql = "SELECT started_at FROM runs WHERE id = :run"
                start = reader.value(sql, run=RunId(ids.raw_id(run)))
            waited.append(max(0, start - answered) / 1000)
            time.sleep(0.3)  # the worker is idle again, at another moment of its round
    return float(median(waited))


def idle(made: Made, hosts: Sequence[str], seconds: float) -> tuple[float, float]:
    """The CPU seconds a minute of an idle crawl worker, and of a supervisor with schedules."""
    with made.store() as store, ExitStack() as stack:
        active = read(UpdateDataset, {"status": "active", "schedule": YEARLY})
        for dataset in all_datasets(store):
            datasets.update(store, "local", dataset, active)
        words = ("livedata", "worker", "--crawlers", "1")
        supervisor = stack.enter_context(process(made.home, hosts, *words)).pid
        worker = None
        while worker is None:
            time.sleep(0.2)
            tasks = Path(f"/proc/{supervisor}/task").glob("*/children")
            worker = next((int(pid) for task in tasks for pid in task.read_text().split()), None)
        time.sleep(15)  # all is imported, and the first look at everything is over
        before = cpu(worker), cpu(supervisor)
        time.sleep(seconds)
        after = cpu(worker), cpu(supervisor)
    minutes = seconds / 60
    return (after[0] - before[0]) / minutes, (after[1] - before[1]) / minutes


def waiting(made: Made) -> float:
    """The milliseconds in which a worker is told what may start, while 5,000 wait for a site."""
    with made.store() as store:
        with store.writing() as writer:
            names = [column.name for column in metadata.tables["datasets"].columns]
            values = writer.rows(f"SELECT {', '.join(names)} FROM datasets LIMIT 1")[0]
            made_before = dict(zip(names, values, strict=True))
            for number in range(QUEUED):
                dataset = DatasetId(ids.new_id())
                copy = {"id": dataset, "name": f"copy {number}"}
                writer.execute(insert("datasets", *names), **(made_before | copy))
                queue.add(writer, dataset, 1, "one.example", writer.now())
        times = []
        for _ in range(20):
            start = time.perf_counter()
            assert len(runs.waiting(store, 4)) == 1
            times.append((time.perf_counter() - start) * 1000)
    return median(times)


def measure(made: Made, hosts: Sequence[str], report: Report, options: argparse.Namespace) -> None:
    """Measure all that a database has a figure for."""
    mark = "b" if made.name == POSTGRES else "a"
    figures = {n: throughput(made, hosts, options.runs, n) for n in (1, 2, 4)}
    rates = ", ".join(f"{n}: {1000 / wall:.0f} ({c:.0f} ms)" for n, (wall, c) in figures.items())
    detail = f"{made.name}, Runs a second by crawl workers, with the CPU of a Run: {rates}"
    report.figure(f"31{mark}", figures[1][0], detail)
    report.figure(f"32{mark}", figures[2][0] / figures[1][0], made.name)
    report.figure(f"33{mark}", figures[1][1], f"{made.name}, in the crawl worker")
    report.figure(f"34{mark}", begun(made, hosts, options.asked), f"{made.name}, median")
    report.figure(f"35{mark}", waiting(made), f"{made.name}, all of one site")
    if made.name == POSTGRES:
        walls = {"64a": figures[2][0], "64b": figures[4][0]}
        if options.away:
            far = {"65a": 1, "65b": 2, "65c": 4}
            walls |= {
                goal: throughput(made, hosts, options.runs, n, AWAY)[0] for goal, n in far.items()
            }
        for goal, wall in walls.items():
            report.figure(goal, wall, f"{1000 / wall:.0f} Runs a second")
    worker, supervisor = idle(made, hosts, options.idle)
    report.figure(f"36{mark}", worker, made.name)
    report.figure(f"37{mark}", supervisor, f"{made.name}, {options.runs + 16} schedules")


def main() -> None:
    """Measure, and exit with 1 if a figure is over its bound."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=1000, help="how many small Runs (1000)")
    parser.add_argument("--idle", type=float, default=60, help="seconds of idleness (60)")
    parser.add_argument("--asked", type=int, default=40, help="how many Runs are asked for (40)")
    parser.add_argument("--away", action="store_true", help="also with PostgreSQL 3 ms away")
    options = parser.parse_args()
    report = Report()
    with sites(SITES) as hosts, databases(partial(fill, hosts, options.runs + 16)) as all_made:
        for made in all_made:
            measure(made, hosts, report, options)
        if len(all_made) == 1:
            print(f"31b to 37b, 64, 65  {LEFT_OUT}")
    sys.exit(report.over)


if __name__ == "__main__":
    main()
