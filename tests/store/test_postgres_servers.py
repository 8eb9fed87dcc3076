"""More than one server: poolers, a restart that all come back to, failover, and read replicas."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
from alembic import command

from livedata import config
from livedata.api import close_app, create_app
from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.errors import Invalid, LostLease, StoreUnavailable
from livedata.model.ids import DatasetId
from livedata.model.requests import CreateDataset
from livedata.pages import add_pages
from livedata.rules.network.targets import TargetPolicy
from livedata.services import accounts, attempts, datasets, feed, queries, shares
from livedata.services.audit.check import check_store
from livedata.services.notices import feeds
from livedata.store import queue
from livedata.store.database.migrate import config as migrations
from livedata.store.database.postgres import server as backend
from livedata.store.database.postgres import words
from livedata.store.database.postgres.server import Postgres
from livedata.store.database.store import Store
from livedata.worker.log import passwords
from spiders.crawl.engine import CrawlEngine
from spiders.worker import main as worker
from spiders.worker import running
from spiders.worker.main import RunQueue
from tests.api.serving import Serving
from tests.browsing.visitor import Visitor
from tests.cli.shell import Shell
from tests.crawling import Crawling, shop_source
from tests.databases import Pooler, Replica, Server, running_pooler, running_replica, running_server
from tests.made import ITEMS, make_dataset, meet_owner, take
from tests.patience import LONG, until
from tests.relay import Relay
from tests.runs.test_called_workers import HOUR, called, enqueue, statuses
from tests.runs.test_pagination_none import SINGLE, listing
from tests.site import Answer, Request, Site

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
PASSWORD = "s3cr3t"
LOG = "livedata.store"


def at_once(acts: list[Callable[[], object]]) -> list[Exception]:
    """Do things at the same time; what went wrong."""
    failed: list[Exception] = []
    gate = threading.Barrier(len(acts))

    def done(act: Callable[[], object]) -> None:
        gate.wait()
        try:
            act()
        except Exception as error:  # noqa: BLE001  (whatever it is)
            failed.append(error)

    threads = [threading.Thread(target=done, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


# Poolers


@pytest.fixture(scope="module")
def pooler(postgres: Server) -> Iterator[Pooler]:
    """A pooler that gives every transaction any of three connections."""
    with running_pooler(postgres) as running:
        yield running


@pytest.fixture
def pooled(postgres: Server, pooler: Pooler) -> Iterator[str]:
    """The address of an empty database behind the pooler."""
    name = postgres.create()
    yield pooler.url(name)
    postgres.drop(name)


def test_a_transaction_pooler_serves_all_that_a_store_does(pooled: str) -> None:
    with ExitStack() as stack:
        # More than there are connections behind it, so that none keeps its own.
        stores = [stack.enter_context(closing(Store(pooled))) for _ in range(8)]
        assert at_once([store.ensure for store in stores]) == []
        dataset = make_dataset(stores[0])

        def take_all() -> None:
            # As often as psycopg asks before it prepares a statement.
            for number in range(24):
                take(stores[number % 2], dataset, [{**ITEMS[0], "price": number}])

        def ask(store: Store) -> None:
            for _ in range(24):
                accounts.grant(store, "local", 1)
                feed.changes(store, "local", dataset)

        asking = [partial(ask, store) for store in stores[2:]]
        assert at_once([take_all, *asking]) == []
        assert feed.head(stores[-1], "local", dataset) == 24
        assert check_store(stores[0]).problems == []
        with stores[0].reading() as reader:
            assert reader.value("SHOW jit") == "off"
            assert reader.value("SELECT count(*) FROM pg_prepared_statements") == 0
    # What other programs of this user get from the pooler is as they expect it.
    with psycopg.connect(pooled, autocommit=True) as other:
        assert other.execute("SHOW jit").fetchone() == ("on",)


def test_migrations_go_through_a_transaction_pooler(pooled: str) -> None:
    with closing(Store(pooled)) as store:
        dataset = make_dataset(store)
        take(store, dataset)
        rows = queries.rows(store, "local", dataset, 10)[0]
    with closing(Postgres(pooled)) as old, old.migrating() as connection:
        command.downgrade(migrations(connection), "0027")
    with closing(Store(pooled)) as again:
        assert queries.rows(again, "local", dataset, 10)[0] == rows


def test_a_parameter_that_a_pooler_does_not_take_is_said(pooled: str) -> None:
    said = r"unsupported startup parameter.*ALTER ROLE"
    with (
        closing(Store(f"{pooled}?options=-csearch_path%3Dother")) as store,
        pytest.raises(StoreUnavailable, match=said),
    ):
        store.ensure()


def behind(pooler: Pooler, crawling: Crawling) -> str:
    """The address of the store of a test behind the pooler."""
    return pooler.url(crawling.store.url.rpartition("/")[2])


def test_a_worker_behind_a_pooler_finds_runs_by_its_looks_and_says_so(
    crawling: Crawling,
    site: Site,
    pooler: Pooler,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", behind(pooler, crawling))
    said: list[str] = []

    def heard() -> str:
        said.append(capfd.readouterr().err)
        return "".join(said)

    with called(tmp_path, site.host, SLOW_POLL=0.5):
        for name in ("a", "b"):
            site.page(f"/{name}", listing(name))
            enqueue(crawling, site, name)
        until(lambda: statuses(crawling.store) == ["succeeded"] * 2)
        until(lambda: "LIVEDATA_LISTEN_URL" in heard())


@pytest.mark.parametrize("at", ["the server", "a session pooler"])
def test_a_worker_behind_a_pooler_hears_calls_at_the_address_that_is_named_for_them(
    at: str,
    crawling: Crawling,
    site: Site,
    pooler: Pooler,
    postgres: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", behind(pooler, crawling))
    site.page("/a", listing("a"))
    with ExitStack() as stack:
        listen_url = crawling.store.url
        if at == "a session pooler":
            session = stack.enter_context(running_pooler(postgres, "session"))
            listen_url = behind(session, crawling)
        monkeypatch.setenv("LIVEDATA_LISTEN_URL", listen_url)
        stack.enter_context(called(tmp_path, site.host))
        until(lambda: _listening(crawling.store))
        enqueue(crawling, site, "a")
        until(lambda: statuses(crawling.store) == ["succeeded"])


def _listening(store: Store) -> bool:
    with store.reading() as reader:
        return bool(
            reader.value(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                "AND query LIKE 'SELECT numbackends %'"
            )
        )


# Many who come back at once


def test_of_many_who_come_at_once_to_a_server_that_was_started_again_none_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backend, "FULL_SECONDS", 60.0)  # a slow machine may take its time
    with running_server() as server, ExitStack() as stack:
        url = server.url("postgres")
        first = stack.enter_context(closing(Store(url)))
        meet_owner(first, "local", 0)

        def come() -> None:
            with closing(Store(url)) as store:
                accounts.grant(store, "local", 1)

        server.stop()
        server.start(max_connections="8")
        assert at_once([come] * 100) == []
        assert "too many clients" in server.log()
        with first.reading() as reader:
            assert reader.value("SELECT balance FROM owners") == 100
        # One that stays full is given up in the end.
        monkeypatch.setattr(backend, "FULL_SECONDS", 0.5)
        for _ in range(7):
            stack.enter_context(psycopg.connect(url))
        last = stack.enter_context(closing(Store(url)))
        with pytest.raises(StoreUnavailable, match=r"too many clients.*Raise max_connections"):
            last.ensure()


# Runs that end while their server is away


@pytest.fixture
def lone(engine: CrawlEngine) -> Iterator[tuple[Server, Crawling]]:
    """A server that may be stopped, and Runs of its store."""
    with running_server() as server, closing(Store(server.url("postgres"))) as store:
        meet_owner(store, "local", 10)
        yield server, Crawling(engine, store)


def test_a_run_that_has_read_all_is_accepted_once_its_server_is_back(
    lone: tuple[Server, Crawling], site: Site
) -> None:
    server, crawling = lone
    over = threading.Event()

    def back() -> None:
        time.sleep(2.0)
        server.start()
        over.wait()  # a server ends with the thread that has started it

    starting = threading.Thread(target=back)

    def last(_request: Request) -> Answer:
        server.stop()
        starting.start()
        return Answer(200, listing(["k1"]))

    site.route("/list", last)
    made = crawling.create(shop_source(site.at("/list"), pagination=SINGLE), allow=site.host)
    try:
        assert crawling.run(made, allow=site.host)["status"] == "succeeded"
        with crawling.store.reading() as reader:
            assert reader.rows("SELECT attempt, new_rows FROM runs") == [(1, 1)]
        assert [hit.path for hit in site.hits].count("/list") == 1
    finally:
        over.set()
        starting.join()


def test_a_run_whose_server_is_away_until_its_lease_is_over_writes_nothing(
    lone: tuple[Server, Crawling], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, crawling = lone
    monkeypatch.setattr(queue, "LEASE", 4_000_000)
    monkeypatch.setattr(running, "MARGIN", 1.0)

    def last(_request: Request) -> Answer:
        server.stop()
        return Answer(200, listing(["k1"]))

    site.route("/list", last)
    made = crawling.create(shop_source(site.at("/list"), pagination=SINGLE), allow=site.host)
    with pytest.raises(LostLease, match="could not be reached until the lease"):
        crawling.run(made, allow=site.host)
    server.start()
    with crawling.store.reading() as reader:
        assert reader.rows("SELECT count(*) FROM rows") == [(0,)]
        assert reader.value("SELECT count(*) FROM ledger WHERE run_id IS NOT NULL") == 0


def test_a_run_whose_end_was_written_unheard_has_ended(
    lone: tuple[Server, Crawling], site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, crawling = lone
    finish, heard = attempts.finish, [False]

    def unheard(*arguments: Any) -> str:
        status = finish(*arguments)
        if not heard[0]:
            heard[0] = True
            raise StoreUnavailable("The connection ended before the answer to COMMIT had come.")
        return status

    monkeypatch.setattr(attempts, "finish", unheard)
    site.page("/list", listing(["k1"]))
    made = crawling.create(shop_source(site.at("/list"), pagination=SINGLE), allow=site.host)
    assert crawling.run(made, allow=site.host)["status"] == "succeeded"
    with crawling.store.reading() as reader:
        assert reader.value("SELECT count(*) FROM ledger WHERE run_id IS NOT NULL") == 1


class Away:
    """What would begin Runs in a store that cannot be reached."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked = 0

    async def claim(self, _room: int) -> Any:
        """Raise what a store raises."""
        self.asked += 1
        raise StoreUnavailable("The store is away.")


class Deaf:
    """What calls nobody, as the server is away."""

    heard, listeners = False, 1


def test_workers_ask_a_store_that_is_away_less_and_less_and_not_together(store: Store) -> None:
    async def pauses() -> list[float]:
        away, told = Away(store), []
        queue = RunQueue(cast(Any, away), cast(Any, Deaf()))
        for number in range(1, 9):
            queue._not_before = 0.0
            await queue.claim(4, idle=True)
            told.append(queue._not_before - time.monotonic())
            await queue.claim(4, idle=True)
            assert away.asked == number
        return told

    one, other = asyncio.run(pauses()), asyncio.run(pauses())
    assert max(one) <= 1.5 * worker.FAILED_OFTEN
    assert min(one[-2:]) >= 0.4 * worker.FAILED_OFTEN > max(one[:1])
    assert all(abs(a - b) > 1e-6 for a, b in zip(one, other, strict=True))


# Several servers in a URL


def test_a_connection_whose_server_takes_no_writes_any_more_is_not_used_again(
    store: Store,
) -> None:
    with store.reading():
        pass
    (line,) = cast(Any, store)._backend._idle
    line.ask("SET default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable, match="it is read-only"):
        accounts.grant(store, "local", 1)
    assert accounts.grant(store, "local", 1)["balanceAfter"] == 1001


@pytest.mark.parametrize(
    ("servers", "shown"),
    [
        ("a:1,b:2", "a:1,b:2"),
        ("a,b", "a,b"),
        ("a,b:2", "a,b:2"),
        ("[::1]:1,[::2]:2", "[::1]:1,[::2]:2"),
    ],
)
def test_a_url_with_several_servers_is_shown_without_its_password(
    servers: str, shown: str, tmp_path: Path
) -> None:
    url = f"postgresql://me:{PASSWORD}@{servers}/livedata?target_session_attrs=read-write"
    assert Store(url).place == f"postgresql://me@{shown}/livedata"
    environ = {"LIVEDATA_HOME": str(tmp_path), "LIVEDATA_DATABASE_URL": url}
    named = {"LIVEDATA_READ_URL": f"{url}&password=2nd", "LIVEDATA_LISTEN_URL": f"{url}"}
    assert {PASSWORD, "2nd"} <= passwords(config.load(environ | named))


def test_each_of_several_servers_is_told_with_what_it_said() -> None:
    text = (
        'connection failed: connection to server at "10.0.0.2", port 2 failed: session is '
        "read-only\n"
        "Multiple connection attempts failed. All failures were:\n"
        "- host: 'a', port: '1', hostaddr: '10.0.0.1': connection failed: connection to server at "
        '"10.0.0.1", port 1 failed: Connection refused\n\tIs the server running on that host?\n'
        "- host: 'b', port: '2', hostaddr: '10.0.0.2': connection failed: connection to server at "
        '"10.0.0.2", port 2 failed: session is read-only\n'
    )
    said = words.failure("postgresql://a:1,b:2/livedata", None, text)
    assert "a:1: Connection refused; b:2: session is read-only. No server of the URL takes" in said


@pytest.mark.parametrize("name", ["read_url", "listen_url"])
@pytest.mark.parametrize("beside", ["sqlite:////tmp/x.db", "postgresql://a/b"])
def test_another_server_is_named_only_beside_a_store_in_postgresql(
    name: str, beside: str, tmp_path: Path
) -> None:
    value = f"postgresql://x:{PASSWORD}@y/z" if "sqlite" in beside else f"http://x:{PASSWORD}@y"
    variable = f"LIVEDATA_{name.upper()}"
    environ = {"LIVEDATA_HOME": str(tmp_path), "LIVEDATA_DATABASE_URL": beside, variable: value}
    with pytest.raises(Invalid, match=f"{variable} must be the URL") as refused:
        config.load(environ)
    assert PASSWORD not in str(refused.value)


# Failover


def both(primary: Server, replica: Server, database: str) -> str:
    """The address of a database on whichever of two servers takes writes."""
    return f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{replica.port}/{database}"


def agreed(server: Server) -> None:
    """Let nothing be told to be written that the replica of a server has not."""
    server.ask("ALTER SYSTEM SET synchronous_standby_names = 'replica'")
    server.ask("SELECT pg_reload_conf()")
    question = "SELECT sync_state FROM pg_stat_replication"
    with psycopg.connect(server.url("postgres"), autocommit=True) as driver:
        until(lambda: driver.execute(question).fetchone() == ("sync",))


def test_what_was_answered_survives_its_server_and_all_go_on_with_the_replica(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_server() as primary, running_replica(primary) as replica, ExitStack() as stack:
        # The replica is named first: it is passed over as long as it takes no writes.
        url = both(replica, primary, "postgres")
        relay = stack.enter_context(Relay(replica.url("postgres")))
        text = f'database_url = "{url}"\nread_url = "{relay.url}"\n'
        (tmp_path / "config.toml").write_text(text)
        monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
        store = stack.enter_context(closing(Store(url)))
        meet_owner(store, "local", 1_000)
        key = Shell(tmp_path).json("key", "create", "--label", "me")["key"]
        names = [f"shop-{number}" for number in range(12)]
        made = []
        for name in names:
            site.page(f"/{name}", listing(name))
            source = {**shop_source(site.at(f"/{name}"), pagination=SINGLE), "name": name}
            declared, allowed = read(CreateDataset, source), TargetPolicy.parse(site.host)
            dataset = datasets.create(store, "local", declared, allowed)
            made.append(DatasetId(ids.raw_id(dataset["id"])))
        agreed(primary)
        serving = stack.enter_context(Serving(tmp_path, key))
        stack.enter_context(called(tmp_path, site.host, SLOW_POLL=10.0))
        answered: list[str] = []

        def post(dataset: DatasetId) -> bool:
            path = f"/v1/datasets/{ids.format_uuid(dataset)}/runs"
            status, answer = serving.ask("POST", path, {})
            if status == 202:
                answered.append(answer["runId"])
            return status == 202

        def is_shown() -> bool:
            return serving.ask("GET", f"/v1/datasets/{ids.format_uuid(made[0])}")[0] == 200

        until(lambda: is_shown() and relay.statements >= 3)
        assert [post(each) for each in made[:6]] == [True] * 6
        primary.stop()
        assert not post(made[6])
        replica.promote()
        until(lambda: post(made[6]), LONG)
        # What was read is the server itself now.
        assert is_shown()
        assert [post(each) for each in made[7:]] == [True] * 5
        until(lambda: statuses(store) == ["succeeded"] * 12, LONG)
        with store.reading() as reader:
            kept = [ids.format_uuid(run) for (run,) in reader.rows("SELECT id FROM runs")]
            charged = reader.rows("SELECT count(*) FROM ledger WHERE run_id IS NOT NULL")
        assert sorted(kept) == sorted(answered)
        assert charged == [(12,)]
        assert check_store(store).problems == []
        assert store.place.count("127.0.0.1") == 2


# Replicas that are read


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Replica]]:
    """A server, and a replica of it, with a store of a user who may do little."""
    with running_server() as primary:
        primary.ask("CREATE ROLE livedata LOGIN")
        primary.ask("CREATE DATABASE livedata OWNER livedata")
        with running_replica(primary) as replica:
            yield primary, replica


def of_user(server: Server) -> str:
    """The address of the store at a server."""
    return server.url("livedata").replace("postgres@", "livedata@")


@pytest.fixture
def replicated(pair: tuple[Server, Replica]) -> Iterator[Store]:
    """The store, read at the replica."""
    primary, replica = pair
    with closing(Store(of_user(primary), read_url=of_user(replica))) as store:
        store.ensure()
        meet_owner(store, "local", 1_000_000)
        yield store


def asks_replica(store: Store) -> bool:
    """Whether a read that may go to the replica does."""
    with store.reading(by_replica=True) as reader:
        return bool(reader.value("SELECT pg_is_in_recovery()"))


def test_a_replica_is_asked_and_shows_at_once_what_was_written(
    replicated: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "BEHIND", LONG)  # a slow machine may take its time
    dataset = make_dataset(replicated, name="at once")
    for number in range(20):
        take(replicated, dataset, [{**ITEMS[0], "price": number}])
        with replicated.at_one_moment() as db:
            assert feed.head(db, "local", dataset) == number + 1
    assert asks_replica(replicated)
    with replicated.reading() as reader:
        assert not reader.value("SELECT pg_is_in_recovery()")


def test_a_replica_that_is_behind_is_not_asked_until_it_has_all(
    replicated: Store, pair: tuple[Server, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "AGAIN", 0.0)
    monkeypatch.setattr(backend, "PATIENT", 0.2)
    dataset = make_dataset(replicated, name="behind")
    until(lambda: asks_replica(replicated))
    with pair[1].standing_still():
        take(replicated, dataset)
        with replicated.at_one_moment() as db:
            assert feed.head(db, "local", dataset) == 3
        assert not asks_replica(replicated)
        assert "is behind the server" in str(replicated.replica_problem())
    until(lambda: asks_replica(replicated))
    assert replicated.replica_problem() is None


def test_without_its_replica_a_store_is_read_at_its_server_and_that_is_told_once(
    replicated: Store,
    pair: tuple[Server, Replica],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(backend, "AGAIN", 0.0)
    until(lambda: asks_replica(replicated))
    caplog.clear()
    replica = pair[1]
    with caplog.at_level(logging.WARNING, LOG):
        replica.stop()
        assert [asks_replica(replicated) for _ in range(3)] == [False] * 3
        (told,) = caplog.messages
        assert f":{replica.port}/livedata cannot be used: Connection refused" in told
        assert "LIVEDATA_READ_URL" in told
        replica.start()
        until(lambda: asks_replica(replicated))
        (again,) = caplog.messages[1:]
        assert again == f"The replica at {of_user(replica)} is asked again."


def test_a_replica_that_is_away_holds_up_one_request_at_a_time(
    replicated: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "AGAIN", HOUR)
    postgres = cast(Any, replicated)._backend
    postgres._replica._trouble = "it was away"
    tried, gate = [], threading.Event()

    def problem(_: float) -> str:
        tried.append(1)
        gate.wait(LONG)
        return "it is away"

    monkeypatch.setattr(postgres._replica, "problem", problem)
    first = threading.Thread(target=asks_replica, args=(replicated,))
    first.start()
    until(lambda: tried == [1])
    assert not asks_replica(replicated)
    gate.set()
    first.join()
    assert not asks_replica(replicated)
    assert tried == [1]


def test_a_server_that_is_no_replica_of_the_store_is_not_asked_and_doctor_says_so(
    pair: tuple[Server, Replica], postgres: Server, tmp_path: Path
) -> None:
    primary, _ = pair
    other = postgres.create()
    try:
        for url in (of_user(primary), postgres.url(other)):
            with closing(Store(of_user(primary), read_url=url)) as store:
                store.ensure()
                assert not asks_replica(store)
                assert "is no replica that follows" in str(store.replica_problem())
        text = f'database_url = "{of_user(primary)}"\nread_url = "{postgres.url(other)}"\n'
        (tmp_path / "config.toml").write_text(text)
        (tmp_path / "config.toml").chmod(0o600)
        assert "is no replica that follows" in Shell(tmp_path)("doctor", code=9).stdout
        script = "from livedata import wsgi; print(wsgi.store.replica_problem())"
        environ = {**os.environ, "LIVEDATA_HOME": str(tmp_path)}
        started = [sys.executable, "-W", "ignore", "-c", script]
        said = subprocess.run(started, env=environ, capture_output=True, text=True, check=True)
        assert "is no replica that follows" in said.stdout
    finally:
        postgres.drop(other)


def test_of_several_servers_to_read_from_the_one_is_used_that_follows_now(
    pair: tuple[Server, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, replica = pair
    monkeypatch.setattr(backend, "AGAIN", 0.0)
    monkeypatch.setattr(backend, "BEHIND", LONG)
    url = both(primary, replica, "livedata")
    with closing(Store(of_user(primary), read_url=url)) as store:
        store.ensure()
        # A connection to one that was a replica, and was promoted.
        postgres = cast(Any, store)._backend
        with closing(Postgres(of_user(primary))) as other:
            postgres._replica._server._idle.append(other._line())
        assert not asks_replica(store)
        assert asks_replica(store)


def test_what_is_read_over_http_is_asked_of_the_replica(
    pair: tuple[Server, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backend, "BEHIND", LONG)
    primary, replica = pair
    with (
        Relay(of_user(replica)) as relay,
        closing(Store(of_user(primary), read_url=relay.url)) as store,
    ):
        app = create_app(store)
        add_pages(app)
        visitor = Visitor.meet(app, store, "alice")
        dataset = make_dataset(store, "alice")
        take(store, dataset, owner="alice")
        _, token = shares.add(store, "alice", dataset, (), (), None)
        read_by = feeds.open_feed(store, "alice", dataset)
        name = ids.format_uuid(dataset)
        for path in (
            f"/v1/datasets/{name}/changes",
            f"/share/{token}/x.csv",
            f"/feeds/{name}.atom?token={read_by}",
            f"/datasets/{name}",
        ):
            relay.forget()
            visitor.get(path, headers={"Authorization": f"Bearer {visitor.key}"})
            # Whether it has all, the beginning of a transaction, and at least one question.
            assert relay.statements >= 3, path
        close_app(app)
