"""Pages that a browser showed are saved as it showed them, and read again without one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from livedata.formats.source_toml import write_source
from tests.browser.scripted import rendered, scripted
from tests.cli.shell import START, Shell
from tests.runs.test_pagination_none import listing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.site import Site


def test_rendered_pages_are_tested_without_site_and_browser(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_ALLOW_HOSTS", site.host)
    site.page("/1", scripted(listing("ab", '<a class="next" href="/2">Next</a>')))
    site.page("/2", scripted(listing("c")))
    file, folder = tmp_path / "source.toml", tmp_path / "pages"
    file.write_text(write_source(rendered(site.at("/1"))))

    def livedata(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", START, *words],
            env=Shell(tmp_path).environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    livedata("preview", str(file), "--save", str(folder), "--pages", "2")
    assert "<li" in (folder / "1.html").read_text().partition("<script")[0]
    site.close()
    monkeypatch.setenv("LIVEDATA_BROWSER", os.devnull)
    assert livedata("dataset", "test", str(file), str(folder)) == (
        f"2 pages in {folder}: 3 rows as saved.\n"
    )
