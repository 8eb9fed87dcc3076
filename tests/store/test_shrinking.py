"""The -wal file of a store is cut back, and nobody waits for that."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path
from threading import Event, Thread

import pytest

from livedata.services import feed
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.made import ITEMS, make_dataset, take

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
        assert time.monotonic() - began < 1
        assert log.stat().st_size == grown > 1_000_000
    store.shrink()
    assert log.stat().st_size == 0


def test_nobody_is_waited_for_who_writes(store: Store) -> None:
    with closing(Store(store.url)) as other, other.writing():
        began = time.monotonic()
        store.shrink()
        assert time.monotonic() - began < 1


def test_whoever_reads_writes_and_copies_at_once_waits_for_nobody_in_vain(
    store: Store, tmp_path: Path
) -> None:
    dataset = make_dataset(store)
    copies = (tmp_path / f"copy{number}.db" for number in count())
    prices = count(1)
    ended, failures = Event(), list[Exception]()

    def again_and_again(act: Callable[[Store], object]) -> None:
        with closing(Store(store.url)) as own:
            while not (ended.is_set() or failures):
                try:
                    act(own)
                except Exception as error:  # noqa: BLE001  (each is shown below)
                    failures.append(error)

    def run(own: Store) -> None:
        take(own, dataset, [{**item, "price": next(prices)} for item in ITEMS])

    def copy(own: Store) -> None:
        file = next(copies)
        file.touch()
        own.copy(file)

    acts: list[Callable[[Store], object]] = [
        run,
        *[lambda own: feed.changes(own, "local", dataset, limit=100)] * 2,
        copy,
        lambda own: own.shrink(),
    ]
    threads = [Thread(target=again_and_again, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    ended.wait(1.5)
    ended.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Path(f"{store.place}-wal").stat().st_size < 64 << 20
    last = max(tmp_path.glob("copy*.db"), key=lambda file: file.stat().st_mtime_ns)
    for each in (store.url, f"sqlite:///{last}"):
        with closing(Store(each)) as judged:
            assert check_store(judged).problems == []
