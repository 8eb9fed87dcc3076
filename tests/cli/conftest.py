from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.shell import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def livedata(tmp_path: Path) -> Shell:
    """The command line over the same store as the fixture `store`."""
    return Shell(tmp_path)
