"""A worker whose store a newer livedata has migrated meanwhile begins no Run and ends none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from livedata.model.errors import Damaged, LivedataError
from livedata.model.harvest import Harvest, StopReason
from livedata.model.problem import Problem
from livedata.services import attempts, interruptions, queries, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.backend import NewerStore
from livedata.store.database.store import Store
from livedata.store.database.table import VERSION
from livedata.store.runs import lock_run
from tests.crawling import Crawling, shop_source
from tests.patience import until
from tests.runs.test_worker import _status, working
from tests.services.test_leases import begun
from tests.shop import shop, some_items
from tests.site import Answer, Request, Site

NEWER = "was written by a newer livedata (version 9999"


def bring_to(url: str, version: str) -> None:
    """Let another program bring the store to a version."""
    with closing(Store(url)) as other, other._backend.writing() as writer:
        writer.execute("UPDATE alembic_version SET version_num = :version", version=version)


@pytest.fixture(autouse=True)
def _brought_back(store: Store) -> Iterator[None]:
    """The database of a server is that of the next test too."""
    yield
    bring_to(store.url, VERSION)


Act = Callable[[Store, attempts.Attempt], object]
HARVEST = Harvest([], StopReason("cancelled", Problem("run.cancelled")))
ACTS: dict[str, Act] = {
    "finish": lambda store, run: attempts.finish(store, run, HARVEST, AcceptancePolicy()),
    "give back": lambda store, run: attempts.give_back(store, run),
    "give up": lambda store, run: attempts.give_up(
        store, run.run, Damaged("runs", run.run, "facts"), run.fence
    ),
    "renew the lease": lambda store, run: attempts.heartbeat(store, run),
    "take another turn": lambda store, run: attempts.take_turn(store, run, "example.org"),
    "begin": lambda store, run: attempts.begin(store, run.run),
    "cancel": lambda store, run: interruptions.cancel(store, "local", run.run),
}


@pytest.mark.parametrize("act", ACTS)
def test_nothing_of_a_run_is_written_by_an_old_process(store: Store, act: str) -> None:
    attempt = begun(store, "shop")
    bring_to(store.url, "9999")
    with store.reading() as reader:
        before = reader.rows("SELECT * FROM runs")
    with pytest.raises(NewerStore, match="Upgrade livedata"):
        ACTS[act](store, attempt)
    # From then on it does nothing at all with the store.
    with pytest.raises(NewerStore):
        queries.datasets(store, "local", 1)
    with closing(Store(store.url)) as other, other._backend.reading() as reader:
        assert reader.rows("SELECT * FROM runs") == before


def test_a_store_that_is_put_back_is_used_again(store: Store) -> None:
    attempt = begun(store, "shop")
    bring_to(store.url, "9999")
    with pytest.raises(LivedataError, match="newer livedata"):
        attempts.heartbeat(store, attempt)
    bring_to(store.url, VERSION)
    attempts.heartbeat(store, attempt)


@pytest.mark.postgres  # a file has one writer at a time
def test_a_migration_waits_for_who_has_looked_at_the_version_and_no_other_looks_meanwhile(
    store: Store,
) -> None:
    first, second = begun(store, "shop"), begun(store, "fair")
    began, end = Event(), Event()

    def migrate() -> None:
        with closing(Store(store.url)) as other, other._backend.migrating() as connection:
            began.set()
            end.wait()
            connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")

    migrating = Thread(target=migrate)
    with store.writing() as writer:
        lock_run(writer, first.run)
        migrating.start()
        until(lambda: waiting(store) == 1)
        assert not began.is_set()
    began.wait()
    raised: list[LivedataError] = []
    renewing = Thread(target=lambda: raised.append(refused(store, second)))
    renewing.start()
    until(lambda: waiting(store) == 1)
    end.set()
    migrating.join()
    renewing.join()
    assert isinstance(raised[0], NewerStore)


def waiting(store: Store) -> int:
    """How many transactions wait for a lock of this database."""
    with closing(Store(store.url)) as other, other._backend.reading() as reader:
        count: int = reader.value(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
    return count


def refused(store: Store, attempt: attempts.Attempt) -> LivedataError:
    with pytest.raises(LivedataError) as raised:
        attempts.give_back(store, attempt)
    return raised.value


def test_a_worker_ends_no_run_in_a_migrated_store_and_says_so_once(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    site.pages(shop(some_items(7)))
    page = shop(some_items(7))["/page/1.html"]

    def moved(_request: Request) -> Answer:
        bring_to(crawling.store.url, "9999")
        return Answer(200, page)

    site.route("/page/1.html", moved)
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    run, _ = runs.enqueue(crawling.store, "local", dataset)
    said: list[str] = []

    def told() -> int:
        said.extend(capfd.readouterr().err.splitlines())
        return sum(NEWER in line for line in said)

    with working(tmp_path, site.host, monkeypatch) as worker:
        until(lambda: worker.pid is not None)
        first = worker.pid
        # The one that began it ends; the next one, which is as old, waits.
        until(lambda: worker.pid is not first and told() >= 2)
        asked = len(site.paths)
        assert _status(crawling, run) == "running"
        site.pages(shop(some_items(7)))
        bring_to(crawling.store.url, VERSION)
        until(lambda: _status(crawling, run) == "succeeded")
        assert told() == 2
        assert len(site.paths) > asked
    with crawling.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM ledger WHERE kind = 'charge'") == 1


def test_a_worker_begins_no_run_in_a_migrated_store(
    crawling: Crawling,
    site: Site,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    site.pages(shop(some_items(7)))
    dataset = crawling.create(shop_source(site.at("/page/1.html")), allow=site.host)
    first, _ = runs.enqueue(crawling.store, "local", dataset)
    said: list[str] = []

    def told() -> int:
        said.extend(capfd.readouterr().err.splitlines())
        return sum(NEWER in line for line in said)

    with working(tmp_path, site.host, monkeypatch) as worker:
        until(lambda: _status(crawling, first) == "succeeded")
        before = worker.pid
        site.forget()
        bring_to(crawling.store.url, "9999")
        run, _ = runs.enqueue(crawling.store, "local", dataset)
        until(lambda: worker.pid is not before and told() >= 2)
        assert (_status(crawling, run), site.paths) == ("queued", [])
        bring_to(crawling.store.url, VERSION)
        until(lambda: _status(crawling, run) == "succeeded")
