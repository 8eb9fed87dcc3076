"""The crawl worker: what is queued is executed, and nothing is lost when it goes."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event

import pytest

from livedata.model import ids
from livedata.services import queries, runs
from livedata.worker import Worker
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.shop import shop, some_items
from tests.site import Site


@contextmanager
def working(home: Path, allow: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Worker]:
    monkeypatch.setenv("LIVEDATA_HOME", str(home))
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", allow)
    worker = Worker()
    worker.start()
    try:
        yield worker
    finally:
        worker.stop()


def until(holds: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    pause = Event()
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        pause.wait(0.05)


def test_a_queued_run_is_executed(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: _status(crawling, run) == "succeeded")
    assert queries.dataset(crawling.store, "local", dataset)["rowCount"] == 7


def test_a_stopped_worker_gives_its_run_back_and_the_attempt_does_not_count(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.route("/page/1.html", faults.never())
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: "/page/1.html" in site.paths)
    with crawling.store.reading() as reader:
        assert reader.row("SELECT status, attempt FROM runs") == ("queued", 0)
    assert _status(crawling, run) == "queued"


def test_a_killed_worker_is_replaced_and_its_run_is_started_again(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.route("/page/1.html", faults.never())
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: "/page/1.html" in site.paths)
        site.pages(shop(some_items(7)))
        os.kill(_holder(crawling), signal.SIGKILL)
        until(lambda: _status(crawling, run) == "succeeded")
    with crawling.store.reading() as reader:
        assert reader.value("SELECT attempt FROM runs") == 2
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 1


@pytest.mark.sqlite  # only there one writer keeps out all others
def test_two_workers_share_eight_free_sites_and_all_eight_runs_run_at_once(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(8)]
        allow = ",".join(site.host for site in sites)
        for number, site in enumerate(sites):
            site.route("/page/1.html", faults.never())
            declared = {**shop_source(site.at("/page/1.html")), "name": f"shop {number}"}
            runs.enqueue(crawling.store, "local", crawling.create(declared, allow=allow))
        # While nobody can write, both workers ask what is queued, and are told of the same Runs.
        with crawling.store.writing():
            workers = [stack.enter_context(working(tmp_path, allow, monkeypatch)) for _ in range(2)]
            until(lambda: all(_wants_to_write(worker, crawling) for worker in workers))
        until(lambda: all("/page/1.html" in site.paths for site in sites))
        assert _by_holder(crawling) == [4, 4]


def _wants_to_write(worker: Worker, crawling: Crawling) -> bool:
    """Whether a worker has opened the store a second time: to write, after it has read."""
    process = worker._process
    files = Path(f"/proc/{process.pid}/fd").iterdir() if process else []
    with suppress(FileNotFoundError):
        return [str(file.readlink()) for file in files].count(crawling.store.place) == 2
    return False


def _by_holder(crawling: Crawling) -> list[int]:
    with crawling.store.reading() as reader:
        holders = reader.rows("SELECT lease_owner FROM runs WHERE status = 'running'")
    return list(Counter(holders).values())


def _status(crawling: Crawling, run: str) -> str:
    return queries.run(crawling.store, "local", ids.RunId(ids.raw_id(run)))["status"]


def _holder(crawling: Crawling) -> int:
    with crawling.store.reading() as reader:
        lease: str = reader.value("SELECT lease_owner FROM runs")
    return int(lease.split("/")[1])
