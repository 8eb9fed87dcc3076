"""The home is for its owner alone, and one that may not be entered is told in a sentence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from livedata.store.database.store import Store
from tests.cli.shell import Shell
from tests.made import make_dataset

NOBODY = 65_534


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, who may enter every folder."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(was)


@pytest.fixture(autouse=True)
def imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What commands and their errors import: nobody may not read it if a checkout is closed."""
    livedata = Shell(tmp_path_factory.mktemp("first"))
    livedata("dataset", "list")
    livedata.error("rows", "list", "no such dataset")


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that every user may enter; those of pytest are closed."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_the_home_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        Shell(tmp_path / "share" / "home")("dataset", "list")
    finally:
        os.umask(before)
    assert (tmp_path / "share" / "home").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "share").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("command", ["dataset list", "usage", "check", "rows list shop"])
def test_a_home_that_may_not_be_entered_is_exit_code_8(
    livedata: Shell, store: Store, tmp_path: Path, command: str
) -> None:
    make_dataset(store)
    livedata.raw(*command.split())
    store.close()
    tmp_path.chmod(0)
    try:
        with nobody():
            said = livedata.error(*command.split(), code=8)
    finally:
        tmp_path.chmod(0o700)
    assert f"The store's home {tmp_path} cannot be used: Permission denied." in said
    assert "LIVEDATA_HOME" in said


def test_a_store_that_may_not_be_entered_is_exit_code_8(
    open_to_all: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = open_to_all / "closed"
    closed.mkdir()
    home = open_to_all / "home"
    home.mkdir(mode=0o755)
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", f"sqlite:///{closed}/livedata.db")
    livedata = Shell(home)
    livedata("dataset", "list")
    closed.chmod(0)
    try:
        with nobody():
            said = livedata.error("dataset", "list", code=8)
    finally:
        closed.chmod(0o700)
    assert "livedata.db cannot be used: " in said
    assert "Permission denied" in said


def test_a_home_that_may_not_be_made_is_exit_code_8(open_to_all: Path) -> None:
    open_to_all.chmod(0o555)
    livedata = Shell(open_to_all / "share" / "home")
    with nobody():
        said = livedata.error("dataset", "list", code=8)
    assert f"The store at {livedata.home}/livedata.db cannot be used: " in said
    assert "Permission denied" in said
