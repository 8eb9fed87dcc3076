"""The crawl worker: what is queued is executed, and nothing is lost when it goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from livedata import config
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.requests import UpdateDataset
from livedata.services import datasets, queries, runs
from livedata.store.database.postgres import server
from livedata.store.database.sqlite import file as sqlite_file
from livedata.store.database.store import Store
from livedata.store.datasets import lock_dataset
from livedata.worker import crawlers
from livedata.worker.crawlers import CrawlProcess, CrawlWorker
from livedata.worker.supervisor import GRACE
from spiders.worker.loop import until_next
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.databases import Server
from tests.patience import LONG, until
from tests.shop import shop, some_items
from tests.site import HTML, Answer, Request, Site


@contextmanager
def working(
    home: Path, allow: str, monkeypatch: pytest.MonkeyPatch, memory: int = 2000
) -> Iterator[CrawlWorker]:
    monkeypatch.setenv("LIVEDATA_HOME", str(home))
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", allow)
    with closing(Store(config.load().database_url)) as store:
        worker = CrawlWorker(store, memory)
        worker.start()
        try:
            yield worker
        finally:
            worker.begin_stop()
            worker.finish_stop(time.monotonic() + GRACE)


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


def test_a_killed_or_crashed_worker_is_replaced_and_its_run_is_started_again(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.route("/page/1.html", faults.never())
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    with working(tmp_path, site.host, monkeypatch):
        until(lambda: "/page/1.html" in site.paths)
        site.pages(shop(some_items(7)))
        # One of the two on each database: nobody can tell them apart but by the number.
        number = signal.SIGSEGV if crawling.store.remote else signal.SIGKILL
        os.kill(_holder(crawling), number)
        until(lambda: _status(crawling, run) == "succeeded")
    with crawling.store.reading() as reader:
        assert reader.value("SELECT attempt FROM runs") == 2
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 1


def test_runs_that_fell_with_their_worker_execute_beside_the_others(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_AT_ONCE", "8")
    opened = Event()
    with ExitStack() as stack:
        stack.callback(opened.set)
        fallen, long, short = (
            [stack.enter_context(Site()) for _ in range(number)] for number in (8, 4, 12)
        )
        allow = ",".join(site.host for site in (*fallen, *long, *short))
        lost = [_enqueue(crawling, site, allow, opened) for site in fallen]
        with working(tmp_path, allow, monkeypatch) as worker:
            until(lambda: all("/page/1.html" in site.paths for site in fallen))
            os.kill(worker.pid or 0, signal.SIGKILL)
            until(lambda: _isolated(crawling) == set(lost))
            slow = [_enqueue(crawling, site, allow, Event()) for site in long]
            quick = [_enqueue(crawling, site, allow) for site in short]
            # One is in progress already, and its page does not come before the others have ended.
            until(lambda: any(_status(crawling, run) == "running" for run in lost))
            until(lambda: all(_status(crawling, run) == "succeeded" for run in quick))
            assert not any(_is_over(crawling, run) for run in lost)
            opened.set()
            until(lambda: all(_status(crawling, run) == "succeeded" for run in lost))
            assert {_status(crawling, run) for run in slow} == {"running"}
            assert _by_holder(crawling) == [4]
            with crawling.store.reading() as reader:
                assert reader.rows("SELECT DISTINCT attempt FROM runs") == [(1,)]


@pytest.mark.slow
def test_a_stopped_worker_gives_back_what_it_executes_apart(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = _enqueue(crawling, site, site.host, Event())
    with crawling.store.writing() as writer:
        writer.execute("UPDATE runs SET alone = :alone", alone=True)
    with working(tmp_path, site.host, monkeypatch) as worker:
        until(lambda: "/page/1.html" in site.paths)
        assert _holder(crawling) != worker.pid
    assert _status(crawling, run) == "queued"
    with crawling.store.reading() as reader:
        assert reader.value("SELECT attempt FROM runs") == 0


@pytest.mark.slow
def test_a_worker_judges_by_the_settings(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = some_items(20)
    site.pages(shop(items))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    crawling.run(dataset, allow=site.host)
    monkeypatch.setenv("LIVEDATA_MASS_LOSS", "0.05")
    for guards, left, status in (("mass_loss", 18, "held"), ("lost_pagination", 16, "succeeded")):
        monkeypatch.setenv("LIVEDATA_GUARDS", guards)
        site.pages(shop(items[:left]))
        run, _ = runs.enqueue(crawling.store, "local", dataset)
        with working(tmp_path, site.host, monkeypatch):
            until(partial(_is_over, crawling, run))
        assert _status(crawling, run) == status


@pytest.mark.slow
@pytest.mark.sqlite  # only there one writer keeps out all others
def test_two_workers_share_eight_free_sites_and_all_eight_runs_run_at_once(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(8)]
        allow = _enqueue_hanging_runs(crawling, sites)
        # While nobody can write, both workers ask what is queued, and are told of the same Runs.
        with crawling.store.writing():
            workers = [stack.enter_context(working(tmp_path, allow, monkeypatch)) for _ in range(2)]
            until(lambda: all(_wants_to_write(worker, crawling) for worker in workers))
        until(lambda: all("/page/1.html" in site.paths for site in sites))
        assert _by_holder(crawling) == [4, 4]


def test_a_store_that_is_locked_for_long_kills_no_healthy_worker(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    with working(tmp_path, site.host, monkeypatch) as worker:
        # It has asked the store, so all is imported: from here on it is silent only if it is stuck.
        until(lambda: _opened(worker, crawling) > 0)
        monkeypatch.setattr(crawlers, "SILENCE", 3.0)
        process = worker.pid
        assert process is not None
        os.kill(process, signal.SIGSTOP)
        run, _ = runs.enqueue(crawling.store, "local", dataset)
        with crawling.store.writing() as writer:
            lock_dataset(writer, dataset)
            os.kill(process, signal.SIGCONT)
            Event().wait(7)
        until(lambda: _status(crawling, run) == "succeeded")
        assert worker.pid == process
    with crawling.store.reading() as reader:
        assert reader.value("SELECT attempt FROM runs") == 1


@pytest.mark.slow
@pytest.mark.postgres
def test_a_server_that_stands_still_for_long_kills_no_healthy_worker(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres: Server,
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    with working(tmp_path, site.host, monkeypatch) as worker:
        until(lambda: _opened(worker, crawling) > 0)
        monkeypatch.setattr(crawlers, "SILENCE", 3.0)
        process = worker.pid
        Event().wait(1.5)  # from the next beat on, which comes within a second, it is waited less
        with postgres.frozen():
            Event().wait(5)
        run, _ = runs.enqueue(crawling.store, "local", dataset)
        until(lambda: _status(crawling, run) == "succeeded")
        assert worker.pid == process


@pytest.mark.postgres
def test_a_store_that_is_away_is_told_once_and_so_is_its_return(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    postgres: Server,
    capfd: pytest.CaptureFixture[str],
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    name = urlsplit(crawling.store.url).path[1:]
    said: list[str] = []

    def told(words: str) -> int:
        said.extend(capfd.readouterr().err.splitlines())
        return sum(words in line for line in said)

    with working(tmp_path, site.host, monkeypatch):
        until(lambda: _status(crawling, run) == "succeeded")
        postgres.ask(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        postgres.ask(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        until(lambda: told("is not currently accepting connections") > 0)
        Event().wait(2)  # it asks more often than that
        postgres.ask(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        run, _ = runs.enqueue(crawling.store, "local", dataset)
        until(lambda: _status(crawling, run) == "succeeded")
    assert told("is not currently accepting connections") == 1
    assert told("The store answers again.") == 1


def test_what_an_idle_worker_does_now_and_then_happens_in_a_wake_up_of_what_it_does_often() -> None:
    waits = [(until_next(5.0), until_next(0.25)) for _ in range(20)]
    assert all(0 < rare <= 5.0 and 0 < often <= 0.25 for rare, often in waits)
    # Some time may pass between two questions, which makes the second answer smaller.
    late = [(rare - often) % 0.25 for rare, often in waits]
    assert min(min(each, 0.25 - each) for each in late) < 0.01


def test_a_wait_for_the_store_is_a_third_of_the_silence_at_most() -> None:
    assert sqlite_file.BUSY_SECONDS <= crawlers.SILENCE / 3
    assert server.LOCK_SECONDS <= crawlers.SILENCE / 3
    assert server.FULL_SECONDS <= crawlers.SILENCE / 3


def test_a_stopped_supervisor_gives_back_the_runs_of_all_its_crawl_workers_in_time(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(6)]
        allow = _enqueue_hanging_runs(crawling, sites)
        monkeypatch.setenv("LIVEDATA_AT_ONCE", "3")
        with command(tmp_path, allow, "worker", "--crawlers", "2") as process:
            until(lambda: all("/page/1.html" in site.paths for site in sites))
            assert _by_holder(crawling) == [3, 3]
            process.terminate()
            # What it gives up waiting for, it kills, and gives back nothing of.
            assert process.wait(LONG) == 0
    with crawling.store.reading() as reader:
        assert set(reader.rows("SELECT status, attempt FROM runs")) == {("queued", 0)}


@contextmanager
def command(home: Path, allow: str, *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of livedata that stays; killed at the end if it is still there."""
    environ = {**os.environ, "LIVEDATA_HOME": str(home), "LIVEDATA_ALLOW_HOSTS": allow}
    process = subprocess.Popen([sys.executable, "-m", "livedata", *words], env=environ)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def test_a_worker_follows_the_schedules_without_anybody_who_looks(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    wanted = read(UpdateDataset, {"status": "active", "schedule": "0 6 1 1 *"})
    datasets.update(crawling.store, "local", dataset, wanted)
    with crawling.store.writing() as writer:
        writer.execute("UPDATE datasets SET next_run_at = 1000000")
    with command(tmp_path, site.host, "worker", "--no-schedules") as process:
        until(lambda: _has_children(process.pid))
        Event().wait(2)
        with crawling.store.reading() as reader:
            assert reader.value("SELECT count(*) FROM runs") == 0
    with command(tmp_path, site.host, "worker", "--crawlers", "1"):
        until(lambda: queries.dataset(crawling.store, "local", dataset)["rowCount"] == 7)
    with crawling.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM runs") == 1
        assert reader.value("SELECT next_run_at FROM datasets") > ids.now()


def _has_children(pid: int) -> bool:
    """Whether any thread of a process has started another process."""
    return any(file.read_text() for file in Path(f"/proc/{pid}/task").glob("*/children"))


def _wants_to_write(worker: CrawlWorker, crawling: Crawling) -> bool:
    """Whether a worker has opened the store a third time: to write, after watching and reading."""
    return _opened(worker, crawling) == 3


def _opened(worker: CrawlWorker, crawling: Crawling) -> int:
    """How many times a worker has the store open."""
    files = Path(f"/proc/{worker.pid}/fd").iterdir() if worker.pid else []
    with suppress(FileNotFoundError):
        return sum(str(file.readlink()) in _names(crawling.store) for file in files)
    return 0


def _names(store: Store) -> set[str]:
    """What a file descriptor of a store is called: its file, or a socket to its server."""
    if store.url.startswith("sqlite"):
        return {store.place}
    port = f":{urlsplit(store.url).port:04X}"
    sockets = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return {f"socket:[{socket[9]}]" for socket in sockets if socket[2].endswith(port)}


def _by_holder(crawling: Crawling) -> list[int]:
    with crawling.store.reading() as reader:
        holders = reader.rows("SELECT lease_owner FROM runs WHERE status = 'running'")
    return list(Counter(holders).values())


def _status(crawling: Crawling, run: str) -> str:
    return queries.run(crawling.store, "local", ids.RunId(ids.raw_id(run)))["status"]


def _is_over(crawling: Crawling, run: str) -> bool:
    return _status(crawling, run) not in {"queued", "running"}


def _holder(crawling: Crawling) -> int:
    with crawling.store.reading() as reader:
        lease: str = reader.value("SELECT lease_owner FROM runs")
    return int(lease.split("/")[1])


def _isolated(crawling: Crawling) -> set[str]:
    """The Runs that are to be started by themselves."""
    with crawling.store.reading() as reader:
        return {ids.format_uuid(run) for (run,) in reader.rows("SELECT id FROM runs WHERE alone")}


def _enqueue(crawling: Crawling, site: Site, allow: str, opened: Event | None = None) -> str:
    """Queue a Run of a page of 7 items, which is not answered before it is `opened`."""
    body = shop(some_items(7), per_page=9)["/"]

    def answer(request: Request) -> Answer:
        while not (opened is None or opened.is_set() or request.wait(0.05)):
            pass
        return Answer(200, body, {"Content-Type": HTML})

    site.route("/page/1.html", answer)
    declared = {**shop_source(site.at("/page/1.html")), "name": site.host}
    run, _ = runs.enqueue(crawling.store, "local", crawling.create(declared, allow=allow))
    return run


def _enqueue_hanging_runs(crawling: Crawling, sites: Sequence[Site]) -> str:
    """Queue a Run for each site, which never answers; the hosts that they read."""
    allow = ",".join(site.host for site in sites)
    for number, site in enumerate(sites):
        site.route("/page/1.html", faults.never())
        declared = {**shop_source(site.at("/page/1.html")), "name": f"shop {number}"}
        runs.enqueue(crawling.store, "local", crawling.create(declared, allow=allow))
    return allow


@pytest.mark.parametrize("lack", [RuntimeError("can't start new thread"), OSError(11, "no room")])
def test_a_worker_starts_as_soon_as_the_machine_has_room_again(
    store: Store, monkeypatch: pytest.MonkeyPatch, lack: Exception
) -> None:
    starts: list[subprocess.Popen[bytes]] = []
    truly = subprocess.Popen

    def lacking(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        if not starts:
            starts.append(None)  # type: ignore[arg-type]  # the machine has no room for it
            raise lack
        starts.append(truly(*args, **named))
        return starts[-1]

    monkeypatch.setattr(crawlers, "PAUSE", 0.01)
    monkeypatch.setattr(crawlers, "COMMAND", ("sleep", "60"))
    monkeypatch.setattr(subprocess, "Popen", lacking)
    worker = CrawlWorker(store, 2000)
    worker.start()
    until(lambda: len(starts) == 2)
    worker.begin_stop()
    worker.finish_stop(time.monotonic() + GRACE)
    assert starts[1].poll() is not None


@pytest.mark.one_database
@pytest.mark.parametrize("line", ["", " ", "apart", "apart no-run", "a library says so"])
def test_what_else_a_worker_prints_ends_neither_it_nor_who_watches_it(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, line: str
) -> None:
    starts = tmp_path / "starts"
    script = f"echo >> {starts}; echo '{line}'"
    monkeypatch.setattr(crawlers, "PAUSE", 0.01)
    monkeypatch.setattr(crawlers, "COMMAND", ("sh", "-c", script))
    worker = CrawlWorker(store, 2000)
    worker.start()
    # It is started again: so what it said was heard to its end.
    until(lambda: starts.exists() and len(starts.read_text().splitlines()) >= 2)
    worker.begin_stop()
    worker.finish_stop(time.monotonic() + GRACE)


def test_a_worker_whose_words_nobody_can_read_does_not_go_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawlers, "COMMAND", ("sleep", "60"))
    process = CrawlProcess(store, 2000, json_log=True)
    begun: list[subprocess.Popen[bytes]] = []
    truly = subprocess.Popen

    def noted(*args: Any, **named: Any) -> subprocess.Popen[bytes]:
        begun.append(truly(*args, **named))
        return begun[-1]

    def no_room(_thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setattr(Thread, "start", no_room)
    with pytest.raises(RuntimeError, match="new thread"):
        process.start()
    assert begun[0].poll() is not None
