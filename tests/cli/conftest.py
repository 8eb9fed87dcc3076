from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cli.looking import Looking
from tests.cli.shell import Shell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.site import Site


@pytest.fixture
def livedata(tmp_path: Path) -> Shell:
    """The command line over the same store as the fixture `store`."""
    return Shell(tmp_path)


@pytest.fixture
def look(livedata: Shell, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looking:
    """The command, allowed to read the site on loopback."""
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    return Looking(livedata, site, tmp_path / "source.toml")
