"""On PostgreSQL crawl workers are called to Runs; whatever becomes of the calls, all Runs end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest

from livedata.model import ids
from livedata.model.ids import DatasetId, RunId
from livedata.services import runs
from livedata.services.attempts import Claim
from livedata.services.runs import Queued
from livedata.store.database.postgres.transaction import PostgresTransaction
from livedata.store.database.store import Store
from livedata.worker import crawlers
from spiders.worker.main import RunQueue
from tests import faults
from tests.crawling import Crawling, shop_source
from tests.patience import AT_ONCE, LONG, until
from tests.relay import Relay
from tests.runs.test_pagination_none import SINGLE, listing
from tests.runs.test_worker import working
from tests.site import Site

pytestmark = pytest.mark.postgres

HOUR = 3600.0
WORKER = "from spiders.worker import main; vars(main).update({}); main.main()"


@contextmanager
def called(home: Path, allow: str, **settings: float) -> Iterator[subprocess.Popen[bytes]]:
    """A crawl worker that looks at the queue so seldom that only calls wake it."""
    environ = {**os.environ, "LIVEDATA_HOME": str(home), "LIVEDATA_ALLOW_HOSTS": allow}
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER.format({"SLOW_POLL": HOUR, **settings})],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def statuses(store: Store) -> list[str]:
    with store.reading() as reader:
        return [status for (status,) in reader.rows("SELECT status FROM runs ORDER BY queued_at")]


def listening(store: Store) -> int:
    """How many workers hear calls."""
    with store.reading() as reader:
        return int(
            reader.value(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND query LIKE 'SELECT numbackends %'"
            )
        )


def enqueue(crawling: Crawling, site: Site, *names: str) -> None:
    """Queue a Run of new datasets that all read one site."""
    for name in names:
        source = shop_source(site.at(f"/{name}"), pagination=SINGLE)
        dataset = crawling.create({**source, "name": name}, allow=site.host)
        runs.enqueue(crawling.store, "local", dataset)


def test_an_idle_worker_begins_a_run_as_soon_as_it_is_queued(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    site.page("/a", listing("a"))
    site.page("/b", listing("b"))
    site.page("/c", listing("c"))
    # Nothing but a call makes it begin, so a slow machine may take its time.
    with called(tmp_path, site.host):
        until(lambda: listening(crawling.store) == 1)
        time.sleep(0.3)
        # Of one site: the second and third are called for by the end of the one before them.
        enqueue(crawling, site, "a", "b", "c")
        with suppress(AssertionError):  # what did not happen is told below
            until(lambda: not {*statuses(crawling.store)} & {"queued", "running"})
    with crawling.store.reading() as reader:
        waited = reader.value("SELECT min(started_at - queued_at) FROM runs")
    assert statuses(crawling.store) == ["succeeded"] * 3
    assert waited < AT_ONCE * 1_000_000


def test_runs_whose_calls_are_lost_all_end(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgresTransaction, "call", lambda _: None)  # here, not in the worker
    with called(tmp_path, site.host, SLOW_POLL=0.5):
        until(lambda: listening(crawling.store) == 1)
        for name in ("a", "b", "c"):
            site.page(f"/{name}", listing(name))
            enqueue(crawling, site, name)
        until(lambda: statuses(crawling.store) == ["succeeded"] * 3)


def test_a_worker_whose_connection_for_calls_has_ended_begins_runs_and_hears_again(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    with called(tmp_path, site.host):
        for name in ("a", "b"):
            site.page(f"/{name}", listing(name))
            until(lambda: listening(crawling.store) == 1)
            with crawling.store.reading() as reader:
                reader.rows(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            enqueue(crawling, site, name)
            until(lambda: not {*statuses(crawling.store)} & {"queued", "running"})
    assert statuses(crawling.store) == ["succeeded"] * 2


@pytest.mark.slow
def test_a_worker_that_is_busy_with_its_store_begins_several_runs_by_one_look(
    crawling: Crawling, tmp_path: Path
) -> None:
    count = 24
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(count)]
        for number, site in enumerate(sites):
            site.page(f"/{number}", listing("a"))
            enqueue(crawling, site, str(number))
        relay = stack.enter_context(Relay(crawling.store.url, 0.03))
        home = tmp_path / "far"
        home.mkdir()
        (home / "config.toml").write_text(f'database_url = "{relay.url}"\n')
        stack.enter_context(called(home, ",".join(site.host for site in sites)))
        until(lambda: statuses(crawling.store) == ["succeeded"] * count, LONG)
        # The end of a Run waits three times, and a look at the queue four times.
        assert relay.waits / count < 4.9


@pytest.mark.slow
def test_a_run_whose_worker_is_killed_is_called_for_again(
    crawling: Crawling, site: Site, tmp_path: Path
) -> None:
    site.route("/a", faults.never())
    site.page("/b", listing("b"))
    with ExitStack() as stack:
        first = stack.enter_context(called(tmp_path, site.host))
        enqueue(crawling, site, "a", "b")
        until(lambda: "/a" in site.paths)
        stack.enter_context(called(tmp_path, site.host, RELEASE=0.5))
        site.page("/a", listing("a"))
        until(lambda: listening(crawling.store) == 2)
        first.send_signal(signal.SIGKILL)
        until(lambda: statuses(crawling.store) == ["succeeded"] * 2)


def test_runs_that_fell_together_are_called_for_and_each_has_a_process_of_its_own(
    crawling: Crawling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(4)]
        allow = ",".join(site.host for site in sites)
        for number, site in enumerate(sites):
            site.page(f"/{number}", listing("a"))
            enqueue(crawling, site, str(number))
        with crawling.store.writing() as writer:
            writer.execute(
                "UPDATE runs SET alone = true WHERE site IN (:a, :b)",
                a=sites[0].host,
                b=sites[2].host,
            )
        command = (sys.executable, "-c", WORKER.format({"SLOW_POLL": HOUR}))
        monkeypatch.setattr(crawlers, "COMMAND", command)
        stack.enter_context(working(tmp_path, allow, monkeypatch))
        until(lambda: statuses(crawling.store) == ["succeeded"] * 4)


def test_a_place_that_a_run_gives_up_while_it_waits_is_for_another(
    crawling: Crawling, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_AT_ONCE", "1")
    with Site() as busy, Site() as free:
        allow = ",".join(each.host for each in (site, busy, free))
        site.page("/leads", listing("a", f'<a class="next" href="{busy.at("/2")}">n</a>'))
        free.page("/free", listing("b"))
        busy.page("/held", listing("c"))
        enqueue(crawling, busy, "held")
        # Its turn is taken by a process of another machine, which lives.
        with crawling.store.writing() as writer:
            writer.execute(
                "UPDATE runs SET status = 'running', turn = site, lease_owner = 'elsewhere/1/1', "
                "lease_until = :until",
                until=ids.now() + 600_000_000,
            )
        declared = {**shop_source(site.at("/leads")), "name": "leads"}
        runs.enqueue(crawling.store, "local", crawling.create(declared, allow=allow))
        enqueue(crawling, free, "free")
        with called(tmp_path, allow):
            until(lambda: "succeeded" in statuses(crawling.store))
        assert statuses(crawling.store) == ["running", "running", "succeeded"]


class Called:
    """What calls one of so many workers, without a server."""

    heard = True

    def __init__(self, listeners: int) -> None:
        self.listeners = listeners

    async def listen(self, ring: Callable[[], object]) -> None:
        """Nobody calls but the test."""


class Claiming:
    """What begins in turn, without a store that has it."""

    def __init__(self, store: Store, claims: Iterable[Claim]) -> None:
        self.store = store
        self._claims = iter(claims)

    async def claim(self, _room: int) -> tuple[Claim, float]:
        """The next of them."""
        return next(self._claims), 0.0


def spreads(store: Store, listeners: int, claims: Sequence[Claim]) -> list[float]:
    """Within how many seconds a worker looks after calls at which it could claim this."""

    async def called() -> list[float]:
        executor = cast(Any, Claiming(store, claims))
        queue, seconds = RunQueue(executor, Called(listeners)), []
        for _ in claims:
            queue._look(called=True)
            await queue.claim(4, idle=True)
            seconds.append(queue._spread)
        return seconds

    with closing(asyncio.new_event_loop()) as loop:
        return loop.run_until_complete(called())


def test_of_many_that_are_called_who_comes_in_vain_comes_later_and_who_gets_a_run_sooner(
    store: Store,
) -> None:
    vain, one = Claim(), Claim(singly=[Queued(RunId(b""), DatasetId(b""), "shop")])
    many = spreads(store, 200, [vain] * 12 + [one] * 8)
    assert many[:3] == [0.005, 0.01, 0.02]
    assert many[11] == 2.0
    assert many[12:14] == [0.5, 0.125]
    assert many[-1] == 0.0
    # Where there are few, nobody waits for long, however often its site was busy.
    assert max(spreads(store, 2, [vain] * 12)) == 0.02
