"""What tests of the API share: the application, Alice and Bob with their keys and datasets.

pytest-flask makes its `client` of the fixture `app`; Alice and Bob send through that one client.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from livedata.api import close_app, create_app
from livedata.api.auth import KeyUsageRecorder, RequestRates
from livedata.model.research.settings import ResearchSettings
from livedata.services import accounts
from livedata.store.database.store import Store
from tests.api.person import JudgingClient, Person
from tests.api.serving import Serving

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient


@pytest.fixture(scope="session")
def application() -> Flask:
    """The application without a store: to make its routes takes longer than most tests."""
    research = ResearchSettings(model="scripted", search="tavily")
    application = create_app(Store("sqlite:///unopened.db"), research=research)
    application.test_client_class = JudgingClient
    return application


@pytest.fixture
def app(application: Flask, store: Store) -> Iterator[Flask]:
    """The application over the fixture `store`; its clients judge every answer."""
    yield from over(application, store)


def over(application: Flask, store: Store) -> Iterator[Flask]:
    """An application that all tests share, over the store of one."""
    shared = application.extensions["livedata"]
    application.extensions["livedata"] = replace(
        shared, store=store, key_usage=KeyUsageRecorder(store), rates=RequestRates()
    )
    yield application
    close_app(application)
    application.extensions["livedata"] = shared


@pytest.fixture
def alice(client: FlaskClient, store: Store) -> Person:
    """Someone with a key and 1,000 credits."""
    return Person.meet(client, store, "alice")


@pytest.fixture
def bob(client: FlaskClient, store: Store) -> Person:
    """Someone else."""
    return Person.meet(client, store, "bob")


@pytest.fixture
def served(tmp_path: Path, store: Store) -> Iterator[Serving]:
    """``livedata serve`` as a process of its own over the fixture `store`, with a key of Alice."""
    key = accounts.create_key(store, "alice", None, first_credits=1000)["key"]
    with Serving(tmp_path, key) as serving:
        yield serving
