"""What tests share: a site, a store, and the one reactor of the session."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from livedata.store.database.store import Store
from spiders.crawl.engine import CrawlEngine, crawl_engine
from tests.crawling import Crawling
from tests.databases import POSTGRES, SQLITE, EmptyDatabase, Server, running_server
from tests.made import make_store, meet_owner, store_in
from tests.site import Site

ON_BOTH = frozenset({"api", "browsing", "mcp", "notices", "python", "runs", "services", "store"})
"""The rooms whose tests run on every database."""

LEFT_OUT = {
    SQLITE: "no test of a store ran on PostgreSQL",
    POSTGRES: "tests of a store ran on PostgreSQL alone, but for those marked sqlite",
    "both": "tests of a store ran on both; those marked one_database, on SQLite alone",
}
"""What does not run, by --database."""


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
    # What is of PostgreSQL alone is covered by the tests of the store; all others repeat the rest.
    marks = () if metafunc.definition.path.parent.name == "store" else pytest.mark.again
    databases = {SQLITE: pytest.param(SQLITE), POSTGRES: pytest.param(POSTGRES, marks=marks)}
    chosen = [database for name, database in databases.items() if asked in {name, "both"}]
    metafunc.parametrize("database", chosen, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is of one database by name and would run on the other."""
    asked = config.getoption("database")
    kept: list[pytest.Item] = []
    others: list[pytest.Item] = []
    for item in items:
        (others if _is_left_out(item, asked) else kept).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was left out: processes of tests that are run side by side count nothing."""
    asked: str = terminalreporter.config.getoption("database")
    terminalreporter.write_line(f"--database {asked}: {LEFT_OUT[asked]}")


def _is_left_out(item: pytest.Item, asked: str) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    if "postgres" in marks:
        return asked == SQLITE or _runs_on(item, SQLITE)
    if "sqlite" in marks or ("one_database" in marks and asked == "both"):
        return _runs_on(item, POSTGRES)
    return False


def _runs_on(item: pytest.Item, database: str) -> bool:
    return isinstance(item, pytest.Function) and (
        hasattr(item, "callspec") and item.callspec.params.get("database") == database
    )


def pytest_configure() -> None:
    """Hold a busy machine against no test, and let commands that tests start be interrupted."""
    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")
    # What is started in the background has SIGINT ignored, and so would all that it starts.
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


def fill(store: Store) -> None:
    """Make a store in which `local` has 1,000 credits."""
    meet_owner(store, "local", 1000)


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of such a store, to be copied."""
    with closing(make_store(tmp_path_factory.mktemp("empty"))) as made:
        fill(made)
    return Path(made.place)


@pytest.fixture(scope="session")
def empty_database(postgres: Server) -> EmptyDatabase:
    """A database with such a store, to be emptied again."""
    return EmptyDatabase(postgres, fill)


@pytest.fixture
def store_url(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> str:
    """The address of an empty store in which `local` has 1,000 credits."""
    if database == SQLITE:
        shutil.copy(request.getfixturevalue("empty_file"), tmp_path)
        return store_in(tmp_path)
    empty: EmptyDatabase = request.getfixturevalue("empty_database")
    url = empty.renew()
    # Commands and workers that a test starts in this home find the store too.
    (tmp_path / "config.toml").write_text(f'database_url = "{url}"\n')
    return url


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    """An empty store in which `local` has 1,000 credits."""
    with closing(Store(store_url)) as made:
        yield made


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
