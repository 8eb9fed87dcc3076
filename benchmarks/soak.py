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
from livedata.services import accounts, datasets, runs
from livedata.store.database.store import Store

FIRST, LAST = 250, 1990
"""A worker makes room for a fresh one after 2000 Runs."""
SITES = 4
PATHS = ("/a", "/b", "/c", "/d", "/refused", "/cut")
ITEMS = 5
PATIENCE = 300.0
POLL = 0.02


@dataclass(frozen=True)
class Soaked:
    """Runs by how they ended, and the resident memory in MiB after the first and after the last."""

    ended: dict[str, int]
    first: float
    last: float

    @property
    def growth(self) -> float:
        """How the last figure stands to the first."""
        return self.last / self.first


class _Connection(asyncio.Protocol):
    """Small lists whose prices move, a page that is refused, and one that is cut."""

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
        f'<li data-sku="{path}/{at}"><b>Item {at}</b> <i>{count + at}</i></li>'
        for at in range(ITEMS)
    )
    return f"<!doctype html><title>List</title><ul>{items}</ul>"


@contextmanager
def sites(count: int) -> Iterator[Sequence[str]]:
    """So many sites on loopback, by host and port, as long as the block lasts."""
    loop = asyncio.new_event_loop()
    serving = (loop.create_server(_Connection, "127.0.0.1", 0) for _ in range(count))
    servers = [loop.run_until_complete(one) for one in serving]
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield [f"127.0.0.1:{one.sockets[0].getsockname()[1]}" for one in servers]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for one in servers:
            one.close()
        loop.run_until_complete(asyncio.sleep(0.1))  # the connections learn that they are closed
        loop.close()


def declared(url: str) -> dict[str, Any]:
    """A dataset of one list."""
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
    """The datasets that are run again and again."""
    accounts.ensure_owner(store, "local", 1_000_000)
    targets = TargetPolicy.parse(",".join(hosts))
    for path, host in itertools.product(PATHS, hosts):
        body = read(CreateDataset, declared(f"http://{host}{path}"))
        datasets.create(store, "local", body, targets)


@contextmanager
def worker(home: Path, hosts: Sequence[str]) -> Iterator[int]:
    """A crawl worker of its own; its process."""
    env = environment() | {"LIVEDATA_HOME": str(home), "LIVEDATA_ALLOW_HOSTS": ",".join(hosts)}
    command = [sys.executable, "-m", "spiders"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=env, stdin=pipe, stdout=subprocess.DEVNULL) as process:
        try:
            yield process.pid
        finally:
            process.terminate()


def resident(process: int) -> float:
    """The resident memory of a process, in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def ended(store: Store) -> dict[str, int]:
    """How many Runs are over, by status."""
    with store.reading() as reader:
        rows = reader.rows("SELECT status, count(*) FROM runs GROUP BY status")
    return {status: count for status, count in rows if status not in {"queued", "running"}}


def enqueue(store: Store) -> None:
    """Run again whatever neither waits nor is in progress."""
    with store.reading() as reader:
        idle = reader.rows(
            "SELECT id FROM datasets WHERE id NOT IN "
            "(SELECT dataset_id FROM runs WHERE status IN ('queued', 'running'))"
        )
    for (dataset,) in idle:
        runs.enqueue(store, "local", dataset)


def soak(first: int = FIRST, last: int = LAST) -> Soaked:
    """Let one worker execute Runs, four at a time, until `last` are over."""
    with TemporaryDirectory(prefix="livedata-soak-") as folder, sites(SITES) as hosts:
        store = Store(f"sqlite:///{folder}/livedata.db")
        create(store, hosts)
        figures: list[float] = []
        end = time.monotonic() + PATIENCE
        with worker(Path(folder), hosts) as process:
            for wanted in (first, last):
                while sum(ended(store).values()) < wanted:
                    enqueue(store)
                    assert time.monotonic() < end, ended(store)
                    time.sleep(POLL)
                figures.append(resident(process))
        found = ended(store)
        store.close()
    return Soaked(found, *figures)


def main() -> None:
    """Measure; exit with 1 where the bound is passed."""
    report = Report()
    found = soak()
    counted = ", ".join(f"{count} {status}" for status, count in sorted(found.ended.items()))
    told = f"{found.last:.1f} MiB against {found.first:.1f} MiB; {counted}"
    report.figure(24, found.growth, told)
    sys.exit(report.over)


if __name__ == "__main__":
    main()
