"""Goal 24: what a crawl worker holds after 2000 Runs, against what it held after 250.

python -m benchmarks.soak
"""

from __future__ import annotations

import asyncio
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

from typing_extensions import override

from benchmarks.goals import Report
from benchmarks.pair import environment
from livedata.messages.validation import read
from livedata.model.requests import CreateDataset
from livedata.rules.network.targets import TargetPolicy
from livedata.services import datasets, runs
from livedata.store.database.store import Store

FIRST, LAST = 250, 1990
"""The Runs after which memory is read; after 2000 a worker ends, and a new one takes over."""
SITES = 4
# Failures too: what an error keeps alive is the usual leak.
PATHS = ("/a", "/b", "/c", "/d", "/refused", "/cut")
ITEMS = 5
PATIENCE = 300.0
POLL = 0.02


@dataclass(frozen=True)
class Soaked:
    """The number of Runs by status, and the memory in MiB after the first and the last figure."""

    ended: dict[str, int]
    first: float
    last: float

    @property
    def growth(self) -> float:
        """The ratio of the last figure to the first."""
        return self.last / self.first


class _Connection(asyncio.Protocol):
    """A connection to a site: small lists with moving prices, a 403, and a page that is cut."""

    _count = itertools.count()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @override
    def data_received(self, data: bytes) -> None:
        path = data.split(b" ", 2)[1].decode()
        if path == "/cut":
            self._transport.abort()
        elif path in {"/robots.txt", "/refused"}:
            self._answer("404 Not Found" if path == "/robots.txt" else "403 Forbidden", "No.")
        else:
            self._answer("200 OK", _page(path, next(self._count)))

    def _answer(self, status: str, body: str) -> None:
        head = f"Content-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}"
        self._transport.write(f"HTTP/1.1 {status}\r\n{head}\r\n\r\n{body}".encode())


def _page(path: str, count: int) -> str:
    items = "".join(
        f'<li data-sku="{path}/{index}"><b>Item {index}</b> <i>{count + index}</i></li>'
        for index in range(ITEMS)
    )
    return f"<!doctype html><title>List</title><ul>{items}</ul>"


@contextmanager
def sites(count: int) -> Iterator[Sequence[str]]:
    """Serve `count` sites on loopback during the block; their hosts with ports."""
    loop = asyncio.new_event_loop()
    serving = (loop.create_server(_Connection, "127.0.0.1", 0) for _ in range(count))
    servers = [loop.run_until_complete(start) for start in serving]
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for server in servers:
            server.close()
        loop.run_until_complete(asyncio.sleep(0.1))  # the connections learn that they are closed
        loop.close()


def declared(url: str) -> dict[str, Any]:
    """The declaration of a dataset that reads one list."""
    sku = {"name": "sku", "read": {"kind": "attribute", "attribute": "data-sku"}}
    return {
        "name": url,
        "columns": [
            {"name": "sku", "type": "string", "key": True},
            {"name": "name", "type": "string"},
            {"name": "price", "type": "number"},
        ],
        "source": {
            "version": 1,
            "url": url,
            "itemSelector": "li",
            "fields": [
                sku,
                *({"name": n, "read": {"selector": s}} for n, s in (("name", "b"), ("price", "i"))),
            ],
            "identity": {"kind": "source-key", "field": "sku"},
            "pagination": {"kind": "none"},
        },
    }


def create(store: Store, hosts: Sequence[str]) -> None:
    """Create the datasets that are run again and again."""
    targets = TargetPolicy.parse(",".join(hosts))
    for path, host in itertools.product(PATHS, hosts):
        body = read(CreateDataset, declared(f"http://{host}{path}"))
        datasets.create(store, "local", body, targets, first_credits=1_000_000)


@contextmanager
def worker(home: Path, hosts: Sequence[str]) -> Iterator[int]:
    """Run a crawl worker during the block; the id of its process."""
    env = environment() | {"LIVEDATA_HOME": str(home), "LIVEDATA_ALLOW_HOSTS": ",".join(hosts)}
    command = [sys.executable, "-m", "spiders"]
    # The worker stops at the end of its stdin, so the pipe must stay open.
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def resident(process: int) -> float:
    """The resident memory of a process, in MiB."""
    # The second number of statm is the resident set, in pages.
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def ended(store: Store) -> dict[str, int]:
    """The number of Runs that are over, by status."""
    with store.reading() as reader:
        rows = reader.rows("SELECT status, count(*) FROM runs GROUP BY status")
    return {status: count for status, count in rows if status not in {"queued", "running"}}


def enqueue(store: Store) -> None:
    """Queue a Run for every dataset that has none queued or in progress."""
    with store.reading() as reader:
        idle = reader.rows(
            "SELECT id FROM datasets WHERE id NOT IN "
            "(SELECT dataset_id FROM runs WHERE status IN ('queued', 'running'))"
        )
    for (dataset,) in idle:
        runs.enqueue(store, "local", dataset)


def soak(first: int = FIRST, last: int = LAST) -> Soaked:
    """Let one worker execute Runs until `last` are over."""
    with TemporaryDirectory(prefix="livedata-soak-") as folder, sites(SITES) as hosts:
        store = Store(f"sqlite:///{folder}/livedata.db")
        create(store, hosts)
        figures: list[float] = []
        deadline = time.monotonic() + PATIENCE
        with worker(Path(folder), hosts) as process:
            for wanted in (first, last):
                while sum(ended(store).values()) < wanted:
                    # At each look, so that the queue is never empty and the worker never idle.
                    enqueue(store)
                    assert time.monotonic() < deadline, ended(store)
                    time.sleep(POLL)
                figures.append(resident(process))
        statuses = ended(store)
        store.close()
    return Soaked(statuses, *figures)


def main() -> None:
    """Measure, and exit with 1 if the figure is over its bound."""
    report = Report()
    soaked = soak()
    counted = ", ".join(f"{count} {status}" for status, count in sorted(soaked.ended.items()))
    detail = f"{soaked.last:.1f} MiB against {soaked.first:.1f} MiB; {counted}"
    report.figure(24, soaked.growth, detail)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
