"""``backup``: the whole store in one file, as it is at one moment."""

from __future__ import annotations

import itertools
import os
import re
import resource
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest

from livedata.services import accounts
from livedata.services.audit.check import check_store
from livedata.store.database.store import Database
from tests.cli.shell import START
from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from collections.abc import Iterator

    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

BACKUPS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for backups."""
    folder = tmp_path / "backups"
    folder.mkdir()
    return folder


def problems(file: Path) -> list[str]:
    """What `check` says of a backup."""
    database = Database(f"sqlite:///{file}")
    try:
        return check_store(database).problems
    finally:
        database.close()


def test_a_backup_is_a_store_with_the_same_history(
    livedata: Shell, store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take(store, make_dataset(store))
    file = folder / "livedata.db"
    said = livedata("backup", str(file)).stderr
    assert said.startswith(f"Wrote the store to {file} (")
    assert problems(file) == []
    changes = livedata.out("changes", "shop", "--json")
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", f"sqlite:///{file}")
    assert livedata.out("changes", "shop", "--json") == changes


def test_the_line_that_it_prints_judges_the_copy(
    livedata: Shell, store: Store, folder: Path
) -> None:
    take(store, make_dataset(store))
    line = livedata("backup", str(folder / "it's a copy.db")).stderr.splitlines()[1]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    judged = subprocess.run(
        ["sh", "-c", line],
        env={**livedata.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert judged.stdout == "The store is sound: 1 dataset, 3 rows, 3 revisions.\n"


def test_without_a_store_there_is_nothing_to_back_up(livedata: Shell, folder: Path) -> None:
    said = livedata.error("backup", str(folder / "livedata.db"), code=8)
    assert said.startswith(f"Error: There is no store at {livedata.home}/livedata.db. If you ")
    assert list(folder.iterdir()) == []
    assert not (livedata.home / "livedata.db").exists()


def test_an_old_store_is_copied_as_it_is(livedata: Shell, store: Store, folder: Path) -> None:
    with store.writing() as writer:
        writer.execute("UPDATE alembic_version SET version_num = '0001'")
    file = folder / "livedata.db"
    livedata("backup", str(file))
    with closing(sqlite3.connect(file)) as driver:
        assert driver.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)


@pytest.mark.usefixtures("store")
def test_json_names_the_file_and_its_size(livedata: Shell, folder: Path) -> None:
    file = folder / "livedata.db"
    assert livedata.json("backup", str(file)) == {"file": str(file), "bytes": file.stat().st_size}


@pytest.mark.usefixtures("store")
def test_a_backup_is_for_its_owner_alone(livedata: Shell, folder: Path) -> None:
    livedata("backup", str(folder / "livedata.db"))
    assert stat.S_IMODE((folder / "livedata.db").stat().st_mode) == 0o600


@pytest.fixture
def runs(store: Store) -> Iterator[None]:
    """Runs that are accepted one after the other, each with other prices, until the test ends."""
    ended = Event()

    def run() -> None:
        for price in itertools.count(1):
            if ended.is_set():
                return
            take(store, dataset, [{**item, "price": price} for item in ITEMS])

    dataset = make_dataset(store)
    accounts.grant(store, "local", 1_000_000, "for as many Runs as there is time for")
    thread = Thread(target=run)
    thread.start()
    yield
    ended.set()
    thread.join()


@pytest.mark.slow
@pytest.mark.usefixtures("runs")
def test_backups_of_a_store_that_is_written_meanwhile_are_sound(store: Store, folder: Path) -> None:
    heads = []
    for number in range(BACKUPS):
        file = folder / f"{number}.db"
        file.touch()
        store.copy(file)
        assert problems(file) == []
        database = Database(f"sqlite:///{file}")
        with database.reading() as reader:
            heads.append(reader.value("SELECT max(head) FROM datasets"))
        database.close()
    assert heads == sorted(heads)
    assert heads[0] < heads[-1]


@pytest.mark.usefixtures("store")
def test_a_file_that_is_there_is_replaced_only_by_force(livedata: Shell, folder: Path) -> None:
    file = folder / "livedata.db"
    file.write_text("mine")
    said = livedata.error("backup", str(file))
    assert said == f"Error: {file} exists; --force replaces it, or name another file.\n"
    assert file.read_text() == "mine"
    livedata("backup", str(file), "--force")
    assert problems(file) == []


def test_the_store_itself_is_no_place_for_its_backup(
    livedata: Shell, store: Store, folder: Path
) -> None:
    link = folder / "link.db"
    link.symlink_to(store.place)
    for file in (store.place, str(link)):
        assert "is the store itself" in livedata.error("backup", file, "--force")


@pytest.mark.usefixtures("store")
def test_a_copy_that_a_program_has_open_is_not_replaced(livedata: Shell, folder: Path) -> None:
    file = folder / "livedata.db"
    livedata("backup", str(file))
    kept = file.read_bytes()
    (folder / "livedata.db-wal").write_bytes(b"pages")
    assert "livedata.db-wal stands beside" in livedata.error("backup", str(file), "--force")
    assert file.read_bytes() == kept


@pytest.mark.parametrize(
    ("place", "sentence"),
    [
        ("nowhere/livedata.db", "there is no folder"),
        (".", "is no file; name one that backup may write"),
        ("pipe", "is no file; name one that backup may write"),
    ],
)
def test_a_place_that_cannot_hold_it_is_named(
    livedata: Shell, folder: Path, place: str, sentence: str
) -> None:
    os.mkfifo(folder / "pipe")
    assert sentence in livedata.error("backup", str(folder / place))
    assert [path.name for path in folder.iterdir()] == ["pipe"]


def test_a_disk_without_room_leaves_nothing_and_does_not_blame_the_store(
    livedata: Shell, store: Store, folder: Path
) -> None:
    take(store, make_dataset(store))

    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, 64 * 1024))

    # Measuring coverage would need room for a file of its own.
    untraced = {
        name: value for name, value in livedata.environ.items() if not name.startswith("COVERAGE")
    }
    ended = subprocess.run(
        [sys.executable, "-c", START, "backup", str(folder / "livedata.db")],
        env=untraced,
        preexec_fn=little_room,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert re.fullmatch(r"Error: \S+\.part: Input/output error\.\n", ended.stderr)
    assert list(folder.iterdir()) == []
