"""A store is made, migrated, or refused and left as it is."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from livedata.model.errors import StoreUnavailable
from livedata.model.ids import raw_id
from livedata.services import queries, runs
from livedata.services.audit.check import check_store
from livedata.store.database.migrate import config
from livedata.store.database.sqlite.file import Sqlite
from livedata.store.database.store import Database, Store
from livedata.store.database.table import VERSION
from tests.made import make_dataset, make_store, take
from tests.store.tables_of import of_sqlite


@contextmanager
def connected(path: Path) -> Iterator[Connection]:
    """A transaction as a migration has it."""
    with Sqlite(f"sqlite:///{path}").migrating() as connection:
        yield connection


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The file of a store that was just made."""
    store = make_store(tmp_path)
    store.ensure()
    store.close()
    return Path(store.place)


def with_version(path: Path, version: str) -> None:
    """Write a version into the store, as another livedata would have."""
    with closing(sqlite3.connect(path)) as driver, driver:
        driver.execute("UPDATE alembic_version SET version_num = ?", (version,))


def bytes_below(folder: Path) -> dict[str, bytes]:
    """Every file of a folder."""
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def test_a_new_store_is_at_the_newest_version(made: Path) -> None:
    with closing(sqlite3.connect(made)) as driver:
        assert driver.execute("SELECT version_num FROM alembic_version").fetchall() == [(VERSION,)]
    assert ScriptDirectory.from_config(config()).get_heads() == [VERSION]


def test_a_migrated_store_goes_down_to_nothing_and_up_again(made: Path) -> None:
    before = of_sqlite(made)
    with connected(made) as connection:
        command.downgrade(config(connection), "base")
    assert of_sqlite(made) == {}
    with connected(made) as connection:
        command.upgrade(config(connection), "head")
    assert before
    assert of_sqlite(made) == before


def test_a_store_of_the_first_version_with_data_is_migrated(tmp_path: Path) -> None:
    first = make_store(tmp_path)
    dataset = make_dataset(first)
    take(first, dataset)
    rows = queries.rows(first, "local", dataset, 10)[0]
    first.close()
    before = of_sqlite(Path(first.place))
    with connected(Path(first.place)) as connection:
        command.downgrade(config(connection), "0001")
    assert "failed_pages" not in of_sqlite(Path(first.place))
    again = make_store(tmp_path)
    take(again, dataset, [])
    assert queries.rows(again, "local", dataset, 10)[0] == rows
    assert check_store(again).problems == []
    again.close()
    assert of_sqlite(Path(first.place)) == before


def test_a_run_that_is_open_as_its_store_is_migrated_has_its_owner(tmp_path: Path) -> None:
    with closing(make_store(tmp_path)) as store:
        run, _ = runs.enqueue(store, "alice", make_dataset(store, "alice"))
        with connected(Path(store.place)) as connection:
            command.downgrade(config(connection), "0031")
            command.upgrade(config(connection), "head")
        with store.reading() as reader:
            assert reader.rows("SELECT id, owner FROM runs") == [(raw_id(run), "alice")]


def test_a_store_that_is_up_to_date_keeps_what_it_holds(tmp_path: Path) -> None:
    first = make_store(tmp_path)
    dataset = make_dataset(first)
    take(first, dataset)
    rows = queries.rows(first, "local", dataset, 10)[0]
    first.close()
    again = make_store(tmp_path)
    assert queries.rows(again, "local", dataset, 10)[0] == rows
    assert len(rows) == 3
    again.close()


@pytest.mark.parametrize("kind", [Store, Database], ids=["to write", "to read"])
def test_a_store_of_a_newer_livedata_is_refused_and_left_as_it_is(
    made: Path, kind: type[Database]
) -> None:
    with_version(made, "9999")
    before = bytes_below(made.parent)
    with pytest.raises(StoreUnavailable, match=r"newer livedata \(version 9999") as refused:
        kind(f"sqlite:///{made}").ensure()
    assert "Upgrade livedata" in refused.value.message
    assert bytes_below(made.parent) == before


def test_an_empty_file_becomes_a_store(tmp_path: Path, made: Path) -> None:
    empty = tmp_path / "empty.db"
    empty.touch()
    store = Store(f"sqlite:///{empty}")
    store.ensure()
    store.close()
    assert of_sqlite(empty) == of_sqlite(made)


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear reader, this is not a database. " * 100)
    before = bytes_below(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"letter\.txt is not a livedata store"):
        Store(f"sqlite:///{letter}").ensure()
    assert bytes_below(tmp_path) == before


def test_a_store_whose_end_was_cut_off_is_refused(made: Path) -> None:
    made.write_bytes(made.read_bytes()[:50])
    with pytest.raises(StoreUnavailable, match=re.escape(made.name)):
        Store(f"sqlite:///{made}").ensure()


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        (["DROP TABLE cursors", "DELETE FROM cursors"], "table: cursors. Restore it from a backup"),
        (
            ["PRAGMA max_page_count = 1", "CREATE TABLE much AS SELECT zeroblob(99999)"],
            "database or disk is full. Make room on its disk",
        ),
        (
            ["PRAGMA query_only = ON", "DELETE FROM cursors"],
            "attempt to write a readonly database. Give your user the right",
        ),
    ],
    ids=["lost table", "full", "read-only"],
)
def test_what_sqlite_refuses_is_said_with_what_to_do(
    made: Path, statements: list[str], said: str
) -> None:
    def write(store: Store) -> None:
        with store.writing() as writer:
            for statement in statements:
                writer.execute(statement)

    with closing(Store(f"sqlite:///{made}")) as store, pytest.raises(StoreUnavailable, match=said):
        write(store)


def test_a_store_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="Check that its folder exists"):
        Store(f"sqlite:///{tmp_path / 'file' / 'livedata.db'}").ensure()
    assert bytes_below(tmp_path) == {"file": b"in the way"}


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="unable to open"):
        Store(f"sqlite:///{tmp_path}").ensure()


def test_a_store_is_made_with_the_folders_above_it_for_its_owner_only(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'a' / 'b' / 'livedata.db'}")
    store.ensure()
    store.close()
    assert Path(store.place).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("mysql://me:secret@db.example/livedata", "mysql://…"),
        ("host=db.example password=secret", "The database URL is not supported; use sqlite:///"),
        ("secret.db", "or postgresql://user@host/database."),
    ],
)
def test_a_database_that_is_not_supported_is_refused_without_its_password(
    url: str, named: str
) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        Store(url)
    assert named in refused.value.message
    assert "secret" not in refused.value.message


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE notes (text TEXT)")
        other.commit()
    before = path.read_bytes()
    with (
        pytest.raises(StoreUnavailable, match="is the database of another program"),
        Store(f"sqlite:///{path}").writing(),
    ):
        pass
    assert path.read_bytes() == before
