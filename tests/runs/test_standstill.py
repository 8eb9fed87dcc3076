"""A page that stops its process, or fills it, ends its own Run, and no other for long."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from livedata.services import interruptions, runs
from livedata.worker import crawlers
from tests import faults, planted
from tests.crawling import Crawling, shop_source
from tests.patience import until
from tests.runs.test_worker import _is_over, working
from tests.shop import shop, some_items
from tests.site import Answer, Handler, Request, Site

pytestmark = [pytest.mark.slow, pytest.mark.one_database]

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers have the planted faults, and are given little time."""
    monkeypatch.setattr(crawlers, "COMMAND", (sys.executable, "-m", "tests.planted", "worker"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("LIVEDATA_RUN_SECONDS", "1")
    monkeypatch.setenv("LIVEDATA_CRAWLER_MEMORY", "120")


def enqueue(crawling: Crawling, site: Site, fault: str = "", attempts: int = 0) -> str:
    """Queue a Run of a site whose page has a fault, and that has used so many attempts."""
    site.pages(shop(some_items(7)))
    if fault:
        site.page("/page/1.html", f"<p>{fault}</p>")
    declared = {**shop_source(site.at("/page/1.html")), "name": site.host}
    run, _ = runs.enqueue(crawling.store, "local", crawling.create(declared, allow=site.host))
    with crawling.store.writing() as writer:
        writer.execute(
            "UPDATE runs SET attempt = :attempts WHERE site = :site",
            attempts=attempts,
            site=site.host,
        )
    return run


def ends(crawling: Crawling) -> list[tuple[str, str | None]]:
    """(status, sentence) of each Run, the first queued first."""
    with crawling.store.reading() as reader:
        return [
            (row[0], row[1]) for row in reader.rows("SELECT status, error FROM runs ORDER BY id")
        ]


def isolated(crawling: Crawling) -> int:
    """How many Runs are to be started alone."""
    with crawling.store.reading() as reader:
        count: int = reader.value("SELECT count(*) FROM runs WHERE alone")
        return count


def once(holds: Callable[[], bool], handler: Handler) -> Handler:
    """The answer of a handler, as soon as something holds."""

    def handle(request: Request) -> Answer | None:
        until(holds)
        return handler(request)

    return handle


@pytest.mark.usefixtures("_planted")
def test_a_run_that_stops_its_process_ends_with_the_reason(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = enqueue(crawling, site, planted.STOP_PYTHON, attempts=2)
    with working(tmp_path, site.host, monkeypatch):
        # Before, all is imported: on a busy machine a worker is silent for seconds then.
        until(lambda: "/page/1.html" in site.paths)
        monkeypatch.setattr(crawlers, "SILENCE", 2.0)
        until(partial(_is_over, crawling, run))
    ((status, error),) = ends(crawling)
    assert status == "failed"
    assert "lost on each of 3 attempts, so nothing was written" in str(error)
    assert "something on a page had stopped it for 2 s" in str(error)


@pytest.mark.usefixtures("_planted")
def test_a_run_that_fills_its_process_is_started_alone_and_ends_with_the_reason(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_RUN_SECONDS", "60")
    with Site() as greedy, Site() as other:
        culprit = enqueue(crawling, greedy, planted.FILL_MEMORY, attempts=2)
        enqueue(crawling, other)
        other.route("/page/1.html", faults.never())
        page = faults.fixed(body=planted.FILL_MEMORY)
        greedy.route("/page/1.html", once(lambda: "/page/1.html" in other.paths, page))
        with working(tmp_path, f"{greedy.host},{other.host}", monkeypatch, memory=240):
            until(lambda: isolated(crawling) == 2)
            until(partial(_is_over, crawling, culprit))
    (status, error), neighbour = ends(crawling)
    assert status == "failed"
    assert "it held more than 240 MB" in str(error)
    assert neighbour == ("queued", None)


@pytest.mark.usefixtures("_planted")
def test_a_page_that_fells_its_process_fells_others_once_and_then_itself_alone(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_RUN_SECONDS", "60")
    with ExitStack() as stack:
        deadly, beside, later = (stack.enter_context(Site()) for _ in range(3))
        allow = ",".join(site.host for site in (deadly, beside, later))
        culprit, fallen = enqueue(crawling, deadly, planted.DIE), enqueue(crawling, beside)
        page = faults.fixed(body=planted.DIE)
        deadly.route("/page/1.html", once(lambda: "/page/1.html" in beside.paths, page))
        beside.route("/page/1.html", faults.never())
        with working(tmp_path, allow, monkeypatch) as worker:
            until(lambda: isolated(crawling) == 2)
            beside.pages(shop(some_items(7)))
            long = enqueue(crawling, later)
            later.route("/page/1.html", faults.never())
            until(lambda: "/page/1.html" in later.paths)
            survivor = worker.pid
            until(lambda: all(_is_over(crawling, run) for run in (culprit, fallen)))
            assert worker.pid == survivor
            assert not _is_over(crawling, long)
    (status, error), neighbour, _ = ends(crawling)
    assert status == "failed"
    assert "lost on each of 3 attempts" in str(error)
    assert neighbour == ("succeeded", None)


@pytest.mark.usefixtures("store")
def test_a_worker_that_cannot_be_started_or_taken_back_starts_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(interruptions, "take_back", fail)
    command = crawlers.COMMAND
    monkeypatch.setattr(crawlers, "COMMAND", (str(tmp_path / "nothing"),))
    with working(tmp_path, "", monkeypatch, memory=1) as worker:
        monkeypatch.setattr(crawlers, "COMMAND", command)
        until(lambda: worker.pid is not None)
        first = worker.pid
        until(lambda: worker.pid != first)


@pytest.mark.usefixtures("_planted")
def test_a_worker_whose_thread_does_not_come_back_or_that_grew_makes_room_for_a_fresh_one(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults = (planted.KEEP_MEMORY, planted.STOP_A_THREAD, "")
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in faults]
        allow = ",".join(site.host for site in sites)
        worker = stack.enter_context(working(tmp_path, allow, monkeypatch))
        processes = []
        for site, fault in zip(sites, faults, strict=True):
            until(lambda: worker.pid not in processes)
            processes.append(worker.pid)
            run = enqueue(crawling, site, fault)
            until(partial(_is_over, crawling, run))
        _, stuck, fresh = ends(crawling)
    assert fresh == ("succeeded", None)
    assert stuck[0] == "failed"
    assert str(stuck[1]) == (
        "The Run was given up 0.5 s after its time was over, since it was still busy with "
        f"{sites[1].at('/page/1.html')}; start it again, and if it ends so again report that "
        "address: it is a fault of livedata."
    )


def start(home: Path, site: Site, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with the planted faults, which ends by itself."""
    environ = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "LIVEDATA_HOME": str(home),
        "LIVEDATA_ALLOW_HOSTS": site.host,
        "LIVEDATA_RUN_SECONDS": "1",
    }
    command: Sequence[str] = (sys.executable, "-m", "tests.planted", *words)
    return subprocess.run(
        command, env=environ, check=False, capture_output=True, text=True, timeout=30
    )


def test_livedata_run_ends_although_a_thread_does_not_come_back(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    enqueue(crawling, site, planted.STOP_A_THREAD)
    ended = start(tmp_path, site, "run", site.host)
    assert (ended.returncode, ends(crawling)[0][0]) == (3, "failed")
    assert "The Run was given up 0.5 s after its time was over" in ended.stdout


def test_livedata_run_that_a_page_stops_is_ended_by_the_kernel_three_times_at_most(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    enqueue(crawling, site, planted.STOP_PYTHON, attempts=2)
    assert start(tmp_path, site, "run", site.host).returncode == -signal.SIGPROF
    interruptions.reap_expired_leases(crawling.store)
    ((status, error),) = ends(crawling)
    assert status == "failed"
    assert "a page that keeps it busy" in str(error)
