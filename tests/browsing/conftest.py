"""What tests of the pages share: the application with its pages, and Alice and Bob in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from livedata.api import close_app, create_app
from livedata.pages import add_pages
from livedata.pages.hosts import hosts
from tests.browsing.visitor import Visitor
from tests.services.conftest import clock, set_clock, step  # noqa: F401  (fixtures)

if TYPE_CHECKING:
    from flask import Flask

    from livedata.store.database.store import Store


@pytest.fixture
def app(store: Store) -> Iterator[Flask]:
    """The application over the fixture `store`, bound to this machine, and known as one name."""
    application = create_app(store)
    add_pages(application, hosts("127.0.0.1", "https://data.example", "intranet.example"))
    yield application
    close_app(application)


@pytest.fixture
def alice(app: Flask, store: Store) -> Visitor:
    """Someone who is signed in, with 1,000 credits."""
    return Visitor.meet(app, store, "alice")


@pytest.fixture
def bob(app: Flask, store: Store) -> Visitor:
    """Someone else."""
    return Visitor.meet(app, store, "bob")
