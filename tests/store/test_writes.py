"""Who waits for a write need not ask what has changed: a number tells that something has."""

from __future__ import annotations

from contextlib import closing

import pytest

from livedata.store.database.store import Store
from tests.made import make_dataset

pytestmark = pytest.mark.sqlite  # on PostgreSQL a worker hears of jobs


def test_the_number_changes_with_each_write_of_this_process_or_another(store: Store) -> None:
    make_dataset(store, name="a")
    seen = [store.writes()]
    make_dataset(store, name="b")
    seen.append(store.writes())
    with closing(Store(store.url)) as other:
        make_dataset(other, name="c")
    seen.append(store.writes())
    assert len(set(seen)) == 3


def test_the_number_stays_while_all_only_read(store: Store) -> None:
    make_dataset(store)
    before = store.writes()
    with closing(Store(store.url)) as other, other.reading() as reader:
        assert reader.value("SELECT count(*) FROM datasets") == 1
    assert store.writes() == before
