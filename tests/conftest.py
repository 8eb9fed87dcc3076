"""What tests share: a site, a store, and the one reactor of the session."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from livedata.services import accounts
from livedata.store.database.store import Store
from spiders.crawl.engine import CrawlEngine, crawl_engine
from tests.crawling import Crawling
from tests.databases import POSTGRES, SQLITE, Server, running_server
from tests.made import make_store, store_in
from tests.site import Site

ON_BOTH = frozenset({"api", "runs", "services", "store"})
"""The rooms whose tests run on every database."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Which databases the tests of a store run on."""
    parser.addoption(
        "--database",
        choices=(SQLITE, POSTGRES, "both"),
        default="both",
        help="What the tests of a store run on; without PostgreSQL here, sqlite.",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test of a store once for each database."""
    if (
        "database" not in metafunc.fixturenames
        or metafunc.definition.path.parent.name not in ON_BOTH
    ):
        return
    asked = metafunc.config.getoption("database")
    databases = [name for name in (SQLITE, POSTGRES) if asked in {name, "both"}]
    metafunc.parametrize("database", databases, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is of one database by name and would run on the other."""
    without = config.getoption("database") == SQLITE
    others = [
        item
        for item in items
        if (item.get_closest_marker("sqlite") and _runs_on(item, POSTGRES))
        or (item.get_closest_marker("postgres") and (without or _runs_on(item, SQLITE)))
    ]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if item not in others]


def _runs_on(item: pytest.Item, database: str) -> bool:
    return isinstance(item, pytest.Function) and (
        hasattr(item, "callspec") and item.callspec.params.get("database") == database
    )


def pytest_configure() -> None:
    """What is started in the background has SIGINT ignored, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback with nothing on it yet."""
    with Site() as running:
        yield running


@pytest.fixture
def database(request: pytest.FixtureRequest) -> str:
    """What the store of a test is on: SQLite, but in the rooms that run on both."""
    name: str = getattr(request, "param", SQLITE)
    return name


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A PostgreSQL server, started when the first test asks for it."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store in which `local` has 1,000 credits, to be copied."""
    made = make_store(tmp_path_factory.mktemp("empty"))
    accounts.ensure_owner(made, "local", 1000)
    made.close()
    return Path(made.place)


@pytest.fixture(scope="session")
def empty_database(postgres: Server) -> str:
    """The name of a database with the same store, to be copied."""
    name = postgres.create()
    made = Store(postgres.url(name))
    accounts.ensure_owner(made, "local", 1000)
    made.close()
    return name


@pytest.fixture
def store_url(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store in which `local` has 1,000 credits."""
    if database == SQLITE:
        shutil.copy(request.getfixturevalue("empty_file"), tmp_path)
        yield store_in(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create(f"TEMPLATE {request.getfixturevalue('empty_database')}")
    # Commands and workers that a test starts in this home find the store too.
    (tmp_path / "config.toml").write_text(f'database_url = "{server.url(name)}"\n')
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store in which `local` has 1,000 credits."""
    made = Store(store_url)
    yield made
    made.close()


@pytest.fixture(scope="session")
def engine() -> Iterator[CrawlEngine]:
    """The reactor can be started only once in a process."""
    with crawl_engine() as started:
        yield started


@pytest.fixture
def reactor_loop(engine: CrawlEngine) -> asyncio.AbstractEventLoop:
    """The loop in which the reactor runs."""
    return engine.loop


@pytest.fixture
def crawling(engine: CrawlEngine, store: Store) -> Crawling:
    """Runs of datasets in `store`."""
    return Crawling(engine, store)
