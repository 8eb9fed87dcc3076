"""What tests of a store share: an empty database of either kind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.databases import SQLITE, Server
from tests.made import store_in


@pytest.fixture
def url(request: pytest.FixtureRequest, database: str, tmp_path: Path) -> Iterator[str]:
    """The address of an empty database of its own."""
    if database == SQLITE:
        yield store_in(tmp_path)
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)
