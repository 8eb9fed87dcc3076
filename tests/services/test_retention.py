"""What is kept for a time goes after it, of all datasets, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.services.audit.check import check_store
from livedata.services.scheduling.retention import forget_old
from livedata.store import schedules
from tests import made
from tests.services.conftest import Clock
from tests.services.table import A, B, Table

DAY = 86_400
TEMPORARY = ("failed_pages", "held_outputs", "skipped_fires")


def counts(table: Table) -> Mapping[str, int]:
    """How much is kept for a time."""
    with table.store.reading() as reader:
        steps = reader.value("SELECT count(*) FROM attempts WHERE steps IS NOT NULL")
        return {
            "steps": steps,
            **{name: reader.value(f"SELECT count(*) FROM {name}") for name in TEMPORARY},
        }


def kept(table: Table) -> Mapping[str, Any]:
    """Everything that is kept for good."""
    return table.dump(*TEMPORARY, "attempts")


def test_what_is_kept_for_a_time_goes_after_thirty_days(table: Table, step: Clock) -> None:
    many = [{**A, "sku": f"K{number}"} for number in range(20)]
    table.take(*many)
    assert table.take(A, B)["status"] == "held"
    with table.store.writing() as writer:
        schedules.skip(writer, table.id, Micros(ids.now()), "no_credits")
        run = writer.value("SELECT run_id FROM held_outputs")
        writer.execute(
            "INSERT INTO failed_pages (run_id, number, url, final_url, status, markup, cut, "
            "kept_until) VALUES (:run, 1, '', '', 200, :markup, false, :until)",
            run=run,
            markup=b"",
            until=ids.now() + 30 * DAY * 1_000_000,
        )
    before, full = kept(table), {"steps": 2, **dict.fromkeys(TEMPORARY, 1)}
    assert counts(table) == full
    step(29 * DAY)
    forget_old(table.store)
    assert counts(table) == full
    step(31 * DAY)
    forget_old(table.store)
    assert counts(table) == dict.fromkeys(full, 0)
    assert kept(table) == before
    assert check_store(table.store).problems == []


def test_a_run_that_ends_touches_nothing_that_other_datasets_keep(
    table: Table, step: Clock
) -> None:
    table.take(A)
    step(31 * DAY)
    other = Table(table.store, made.declared("other"))
    other.take(A)
    assert counts(table)["steps"] == 2
