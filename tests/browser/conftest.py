"""Real Chromium, on loopback: a machine without it fails here, and says what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from spiders.browser.shared_browser import ON_PATH
from tests.site import Forbidden


@pytest.fixture(scope="session", autouse=True)
def chromium() -> None:
    """The browser that the tests drive."""
    if not any(map(shutil.which, ON_PATH)):
        pytest.fail("These tests need Chromium; ./tests/run installs it, or says what to install.")


@pytest.fixture
def forbidden() -> Iterator[Forbidden]:
    with Forbidden() as running:
        yield running
