"""The command line, for tests of what Runs of research leave."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def livedata(tmp_path: Path) -> Shell:
    """The command line over the same store as the fixture `store`."""
    return Shell(tmp_path)
