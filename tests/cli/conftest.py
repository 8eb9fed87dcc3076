from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.shell import Shell
from tests.made import make_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from livedata.store.engine import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = make_store(tmp_path)
    yield made
    made.close()


@pytest.fixture
def livedata(tmp_path: Path) -> Shell:
    return Shell(tmp_path)
