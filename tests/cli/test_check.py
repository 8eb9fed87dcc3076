from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from tests.made import make_dataset, take

if TYPE_CHECKING:
    from livedata.store.database.store import Store
    from tests.cli.shell import Shell


def test_a_sound_store_is_counted(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    assert livedata.out("check") == "The store is sound: 1 dataset, 3 rows, 3 revisions.\n"
    assert livedata.json("check")["sound"] is True


def test_a_store_that_contradicts_itself_is_exit_code_1(livedata: Shell, store: Store) -> None:
    take(store, make_dataset(store))
    with closing(sqlite3.connect(store.place)) as driver, driver:
        driver.execute("UPDATE datasets SET row_count = 7")
    assert "shop" in livedata("check", code=1).stdout
