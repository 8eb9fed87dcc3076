"""What `check` keeps in memory does not grow with the history, and it still finds what is wrong."""

from __future__ import annotations

import tracemalloc
from itertools import count

import pytest

from livedata.services.audit import evidence
from livedata.services.audit.check import check_store
from livedata.store.database.store import Store
from tests.services.table import A, B, Table

# On PostgreSQL answers come in parts of 500 rows, which is more than there is here.
pytestmark = pytest.mark.sqlite

RUNS = 80
"""More Runs than pages are kept at a time, so that these have their place already."""
MOST_GROWTH = 40_000
"""For 100 Runs: 400 bytes each are less than what one of them is."""


_PRICES = count(100)


def grow(table: Table, runs: int) -> None:
    """So many Runs that each change a row."""
    for _ in range(runs):
        table.take({**A, "price": next(_PRICES)}, B)


def peak(store: Store) -> int:
    """The most that a check has in memory."""
    tracemalloc.start()
    try:
        assert check_store(store).problems == []
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_a_check_of_a_longer_history_takes_no_more_memory(table: Table) -> None:
    grow(table, RUNS)
    check_store(table.store)  # what is imported and made once
    before = peak(table.store)
    grow(table, 100)
    assert peak(table.store) - before < MOST_GROWTH


def test_the_pages_that_nobody_names_are_found_part_by_part(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "PART", 2)
    grow(table, 7)
    with table.store.writing() as writer:
        for position in range(3):
            writer.execute(
                "INSERT INTO observations SELECT :id, dataset_id, run_id, source_url, observed_at, "
                "digest, entries FROM observations ORDER BY id LIMIT 1",
                id=bytes([255 * (position % 2)] * 15 + [position]),
            )
    problems = check_store(table.store).problems
    assert len(problems) == 3
    assert all("is evidence of nothing" in problem for problem in problems)
