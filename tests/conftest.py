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
from tests.made import make_store
from tests.site import Site


def pytest_configure() -> None:
    """What is started in the background has SIGINT ignored, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on loopback with nothing on it yet."""
    with Site() as running:
        yield running


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store in which `local` has 1,000 credits, to be copied."""
    home = tmp_path_factory.mktemp("empty")
    made = make_store(home)
    accounts.ensure_owner(made, "local", 1000)
    made.close()
    return Path(made.place)


@pytest.fixture
def store(tmp_path: Path, empty_store: Path) -> Iterator[Store]:
    """An empty store in which `local` has 1,000 credits."""
    shutil.copy(empty_store, tmp_path)
    made = make_store(tmp_path)
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
