"""A store on a PostgreSQL server is copied by the server's own program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from livedata.model.errors import Invalid
from livedata.services.audit.check import check_store
from livedata.store.database.store import Database, Store
from tests.cli.shell import Shell
from tests.databases import Server, programs
from tests.made import make_dataset, take
from tests.store.tables_of import differences, tables_of

pytestmark = pytest.mark.postgres


@pytest.fixture
def url(postgres: Server) -> Iterator[str]:
    """The address of a store with a Run."""
    name = postgres.create()
    with closing(Store(postgres.url(name))) as store:
        take(store, make_dataset(store))
    yield postgres.url(name)
    postgres.drop(name)


def sh(command: str) -> None:
    """Run a command line with the programs of PostgreSQL in reach."""
    path = f"{programs()}:{os.environ['PATH']}"
    subprocess.run(["sh", "-c", command], env={**os.environ, "PATH": path}, check=True)


def test_the_command_that_is_named_makes_a_backup_that_can_be_restored(
    postgres: Server, url: str, tmp_path: Path
) -> None:
    dump, restored = tmp_path / "it's a dump", postgres.create()
    with closing(Database(url)) as database, pytest.raises(Invalid) as refusal:
        database.copy(dump)
    sh(refusal.value.message.partition("also while Runs go on: ")[2])
    sh(f'pg_restore --dbname "{postgres.url(restored)}" "{dump}"')
    with closing(Database(postgres.url(restored))) as copy:
        report = check_store(copy)
    # With what the tables tell the server of how they are to be vacuumed.
    assert differences(tables_of(url), tables_of(postgres.url(restored))) == []
    postgres.drop(restored)
    assert (report.problems, report.rows) == ([], 3)


def test_backup_names_the_file_that_it_was_asked_for(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVEDATA_DATABASE_URL", url)
    said = Shell(tmp_path).error("backup", str(tmp_path / "x.dump"))
    assert f"--file={tmp_path}/x.dump " in said
    assert list(tmp_path.iterdir()) == []


def test_no_password_is_in_the_command() -> None:
    with pytest.raises(Invalid) as refusal:
        Store("postgresql://ann:s3cr3t@db.example/shop")._backend.copy(Path("x"), Path("dump"))
    assert "s3cr3t" not in refusal.value.message
    assert refusal.value.message.endswith("--file=dump postgresql://ann@db.example/shop")
