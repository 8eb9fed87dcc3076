"""What tests of the pages share: the application with its pages, and Alice and Bob in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from livedata.api import create_app
from livedata.pages import add_pages
from livedata.rules.network.installation import hosts
from livedata.store.database.store import Store
from tests.api.conftest import over
from tests.api.serving import Serving
from tests.browsing.chromium import chromium
from tests.browsing.visitor import Visitor
from tests.services.conftest import clock, set_clock, step  # noqa: F401  (fixtures)

if TYPE_CHECKING:
    from flask import Flask
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def application() -> Flask:
    """The application without a store, which compiles a template once for all tests."""
    names = hosts("127.0.0.1", "https://data.example", "intranet.example")
    application = create_app(Store("sqlite:///unopened.db"), hosts=names)
    add_pages(application)
    return application


@pytest.fixture
def app(application: Flask, store: Store) -> Iterator[Flask]:
    """The application over the fixture `store`, bound to this machine, and known as one name."""
    yield from over(application, store)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def server(store: Store) -> Iterator[Serving]:
    """A server of the store that a module keeps for all of its tests."""
    with Serving(Path(store.place).parent) as serving:
        yield serving


@pytest.fixture
def alice(app: Flask, store: Store) -> Visitor:
    """Someone who is signed in, with 1,000 credits."""
    return Visitor.meet(app, store, "alice")


@pytest.fixture
def bob(app: Flask, store: Store) -> Visitor:
    """Someone else."""
    return Visitor.meet(app, store, "bob")
