"""The -wal file of a store is cut back, and nobody waits for that."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest

from livedata.store.database.store import Store
from tests.patience import AT_ONCE
from tests.soak import Soak

pytestmark = pytest.mark.sqlite


def test_what_is_written_under_a_reader_is_cut_back_once_nobody_reads(store: Store) -> None:
    log = Path(f"{store.place}-wal")
    with closing(Store(store.url)) as other, other.reading() as reader:
        reader.value("SELECT count(*) FROM runs")
        with store.writing() as writer:
            for number in range(30):
                writer.execute(
                    "INSERT INTO owners (name, balance, created_at) VALUES (:name, 0, 0)",
                    name=f"{number}" * 50_000,
                )
        grown = log.stat().st_size
        began = time.monotonic()
        store.shrink()
        assert time.monotonic() - began < AT_ONCE
        assert log.stat().st_size == grown > 1_000_000
    store.shrink()
    assert log.stat().st_size == 0


def test_nobody_is_waited_for_who_writes(store: Store) -> None:
    with closing(Store(store.url)) as other, other.writing():
        began = time.monotonic()
        store.shrink()
        assert time.monotonic() - began < AT_ONCE


def test_whoever_reads_writes_and_copies_at_once_waits_for_nobody_in_vain(
    store: Store, tmp_path: Path
) -> None:
    soak = Soak(store, tmp_path, backup_every=0)
    soak.run(1.5)
    assert soak.wrong == []
