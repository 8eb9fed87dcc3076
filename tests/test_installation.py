"""What is not installed is installed by a command that works here, and fetches nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from livedata import hints
from livedata.hints import install_command, packages

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("browser", "metrics", "notify", "postgres", "research")
READ = ("README.md", "SECURITY.md", "livedata", "spiders", "docs", "examples")


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_command_installs_the_packages_of_an_extra_and_no_package_named_livedata(
    extra: str,
) -> None:
    names = [Requirement(package).name for package in packages(extra)]
    assert names
    assert "livedata" not in names
    # All of them are here, so that pip has nothing to fetch.
    done = subprocess.run(
        ["/bin/sh", "-c", f"{install_command(extra)} --no-index"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(f"already satisfied: {name}" in done.stdout for name in names)


def test_where_there_is_no_pip_it_is_a_command_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hints, "find_spec", lambda _: None)
    begin = f"uv pip install --python {sys.executable} 'apprise"
    assert install_command("notify").startswith(begin)


def test_an_extra_that_there_is_not_asks_for_nothing() -> None:
    assert packages("sheets") == []


def test_nothing_says_to_install_a_name_that_anybody_can_take_on_an_index() -> None:
    files = [path for name in READ for path in _files(ROOT / name)]
    asking = [file for file in files if "install 'livedata" in file.read_text("utf-8")]
    assert asking == []


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    texts = {".py", ".md", ".html", ".toml"}
    return [file for file in path.rglob("*") if file.suffix in texts]
