from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.made import ITEMS, make_dataset, take

if TYPE_CHECKING:
    from pathlib import Path

    from livedata.model.row import Scalar
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell

EXPORT = ("dataset", "export", "shop", "--format", "sqlite", "-o")
ODD = (
    {"name": "sku", "type": "string", "key": True},
    {"name": "Status", "type": "string"},
    {"name": "order", "type": "number"},
    {"name": "Order", "type": "number"},
)


def asked(file: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(file)) as opened:
        return opened.execute(sql).fetchall()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "shop.db"


def test_rows_have_typed_columns(livedata: Shell, store: Store, file: Path) -> None:
    take(store, make_dataset(store))
    livedata(*EXPORT, str(file))
    cells = asked(file, "SELECT rowKey, status, presence, title, price, stock, note FROM rows")
    assert cells == [
        ("A1", "new", "present", "Lamp", 10, 1, None),
        ("B2", "new", "present", "Chair", 25.5, 0, None),
        ("C3", "new", "present", "Mug", None, 1, None),
    ]
    types = asked(file, "SELECT name, type, pk FROM pragma_table_info('rows')")
    assert ("rowKey", "TEXT", 1) in types
    assert ("price", "NUMERIC", 0) in types
    assert [name for name, _, _ in types][-3:] == ["sourceUrl", "observedAt", "updatedAt"]


def test_changes_are_the_history_cell_by_cell(livedata: Shell, store: Store, file: Path) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, [{**ITEMS[0], "price": 12}, ITEMS[1]])
    livedata(*EXPORT, str(file))
    cells = asked(
        file, "SELECT sequence, kind, rowKey, field, before, after FROM changes ORDER BY sequence"
    )
    assert cells[0] == (1, "created", "A1", "sku", None, "A1")
    assert cells[-2:] == [
        (4, "updated", "A1", "price", 10, 12),
        (5, "missing", "C3", None, None, None),
    ]


def test_a_long_history_is_written_whole(livedata: Shell, store: Store, file: Path) -> None:
    take(store, make_dataset(store), [{"sku": f"S{number}"} for number in range(700)])
    livedata(*EXPORT, str(file))
    assert asked(file, "SELECT count(DISTINCT sequence), max(sequence) FROM changes") == [
        (700, 700)
    ]


def test_present_leaves_out_what_is_gone_with_its_history(
    livedata: Shell, store: Store, file: Path
) -> None:
    dataset = make_dataset(store)
    take(store, dataset)
    take(store, dataset, ITEMS[:1])
    livedata(*EXPORT, str(file), "--present")
    assert asked(file, "SELECT rowKey FROM rows") == [("A1",)]
    assert asked(file, "SELECT DISTINCT rowKey FROM changes") == [("A1",)]


def test_names_that_sqlite_takes_for_the_same_are_told_apart(
    livedata: Shell, store: Store, file: Path
) -> None:
    item: dict[str, Scalar] = {"sku": 'A"1', "Status": "sold", "order": 1, "Order": 2}
    take(store, make_dataset(store, columns=ODD), [item])
    livedata(*EXPORT, str(file))
    cells = asked(file, 'SELECT rowKey, _status, Status, "order", Order_2 FROM rows')
    assert cells == [('A"1', "new", "sold", 1, 2)]


def test_a_file_that_is_there_is_kept_without_force(
    livedata: Shell, store: Store, file: Path
) -> None:
    take(store, make_dataset(store))
    file.write_text("mine")
    assert "--force" in livedata.error(*EXPORT, str(file))
    assert file.read_text() == "mine"
    livedata(*EXPORT, str(file), "--force")
    assert asked(file, "SELECT count(*) FROM rows") == [(3,)]
    assert [path.name for path in file.parent.glob("*shop.db*")] == ["shop.db"]


def test_an_export_that_fails_leaves_the_old_file(
    livedata: Shell, store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    take(store, make_dataset(store))
    file.write_text("mine")
    monkeypatch.setattr("livedata.cli.dataset.sqlite_writer._write_changes", broken)
    livedata.error(*EXPORT, str(file), "--force")
    assert file.read_text() == "mine"
    assert [path.name for path in file.parent.glob("*shop.db*")] == ["shop.db"]


def test_it_needs_a_file_and_is_no_json(livedata: Shell, store: Store, file: Path) -> None:
    make_dataset(store)
    livedata.error(*EXPORT[:-1], code=2)
    livedata.error(*EXPORT, str(file), "--json", code=2)
