"""What is kept for a time goes after it, of all datasets, and nothing else does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from livedata.model import ids
from livedata.model.ids import Micros
from livedata.services import diagnostics, explanation, retention
from livedata.services.audit.check import check_store
from livedata.services.retention import count_old, forget_old
from livedata.store import runs as stored_runs
from livedata.store import schedules
from tests import made
from tests.services.conftest import Clock
from tests.services.table import A, B, C, Table, pages_of
from tests.services.test_failed_pages import stopped

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


def run_ids(*listed: Any) -> list[ids.RunId]:
    """The ids of Runs."""
    return [ids.RunId(ids.raw_id(run["id"])) for run in listed]


def with_facts(table: Table, *listed: ids.RunId) -> list[bool]:
    """Which of these Runs have facts."""
    with table.store.reading() as reader:
        return [bool(stored_runs.facts(reader, run)[1]) for run in listed]


def kept(table: Table) -> Mapping[str, Any]:
    """Everything that is kept for good."""
    return table.dump(*TEMPORARY, "attempts")


def test_what_is_old_is_looked_for_in_small_steps(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "STEP", 2)
    for number in range(5):
        made.make_dataset(table.store, name=f"shop {number}")
    asked = 0

    def enough() -> bool:
        nonlocal asked
        asked += 1
        return False

    retention.forget_old(table.store, enough)
    of_ages = len(retention._BY_AGE)
    # What is followed, then six datasets, two in a step, and nothing behind the last.
    assert asked == of_ages + 1 + 4


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


def test_facts_of_accepted_runs_go_after_ninety_days_but_for_those_that_others_need(
    table: Table, step: Clock
) -> None:
    accepted = run_ids(table.take(A), table.take(A, B))
    failed = stopped(table)
    step(20 * DAY)
    accepted += run_ids(table.take(A, C))
    step(89 * DAY)
    forget_old(table.store)
    assert with_facts(table, *accepted, failed) == [True] * 4
    # The third is not old yet: what it was compared with stays, and what that was goes.
    step(91 * DAY)
    assert forget_old(table.store)["facts"] == 1
    assert with_facts(table, *accepted, failed) == [False, True, True, True]
    step(200 * DAY)
    assert forget_old(table.store)["facts"] == 1
    assert with_facts(table, *accepted, failed) == [False, False, True, True]
    assert check_store(table.store).problems == []


def test_a_clock_that_was_set_back_takes_no_facts_from_who_needs_them(
    table: Table, step: Clock
) -> None:
    step(10 * DAY)
    ahead = table.take(A)
    step(0)
    both = run_ids(ahead, table.take(A, B))
    step(101 * DAY)
    # By its time the first seems to be the newest; by the rows the second is the last.
    forget_old(table.store)
    assert with_facts(table, *both) == [True, True]
    failed = stopped(table)
    table.take(A, C)
    before = explanation.explanation(table.store, "local", failed)
    forget_old(table.store)
    assert explanation.explanation(table.store, "local", failed) == before
    assert before.compared_with == ids.format_uuid(both[1])
    step(133 * DAY)
    assert forget_old(table.store)["facts"] == 1
    assert with_facts(table, *both) == [True, False]


def test_a_clock_that_was_ahead_for_a_while_leaves_no_output_that_seems_lost(
    table: Table, step: Clock
) -> None:
    table.take(*[{**A, "sku": f"K{number}"} for number in range(20)])
    assert table.take(A, B)["status"] == "held"
    step(31 * DAY)
    assert forget_old(table.store)["heldOutputs"] == 1
    step(0)
    assert check_store(table.store).problems == []


def test_a_run_that_began_before_the_clock_was_set_back_keeps_its_output_as_long_as_its_steps(
    table: Table, step: Clock
) -> None:
    table.take(*[{**A, "sku": f"K{number}"} for number in range(20)])
    step(10 * DAY)
    attempt = table.begin()
    step(0)
    assert table.finish(attempt, pages_of(attempt.recipe, [A, B]))["status"] == "held"
    step(31 * DAY)
    assert forget_old(table.store)["heldOutputs"] == 0
    assert check_store(table.store).problems == []
    step(41 * DAY)
    assert forget_old(table.store)["heldOutputs"] == 1
    step(31 * DAY)
    assert check_store(table.store).problems == []


def test_a_batch_after_another_lets_go_of_all_and_can_be_stopped(
    table: Table, step: Clock, monkeypatch: Any
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    for _ in range(5):
        table.take(A)
    step(91 * DAY)
    assert count_old(table.store) == {
        **dict.fromkeys(("failedPages", "heldOutputs", "skippedFires", "messages", "looks"), 0),
        **dict.fromkeys(("artifacts", "research"), 0),
        "steps": 5,
        "facts": 4,
    }
    assert forget_old(table.store, lambda: True) == {"steps": 2}
    assert {kind: count for kind, count in forget_old(table.store).items() if count} == {
        "steps": 3,
        "facts": 4,
    }
    assert set(count_old(table.store).values()) == {0}


def test_diagnostics_say_that_facts_are_kept_no_more(table: Table, step: Clock) -> None:
    (old, *_) = run_ids(table.take(A), table.take(A, B))
    step(91 * DAY)
    forget_old(table.store)
    said = diagnostics.diagnostics(table.store, "local", old, entity="A1")
    sentence = "What an accepted Run noted of its pages is kept for 90 days only."
    for area in ("sources", "cells", "reconciliation", "entity"):
        assert said[area]["unknowns"] == [sentence]
    assert diagnostics.diagnostics(table.store, "local", old, summary=True)["summary"]
    assert explanation.explanation(table.store, "local", old).unknown is not None


def test_facts_of_other_datasets_go_although_one_value_cannot_be_read(
    table: Table, step: Clock
) -> None:
    other = Table(table.store, made.declared("other"))
    for each in (table, other):
        each.take(A)
        each.take(A, B)
    step(91 * DAY)
    failed = stopped(table)
    with table.store.writing() as writer:
        writer.execute("UPDATE runs SET facts = '{' WHERE id = :run", run=failed)
    # Which Run it was compared with is not known: all of its dataset stay.
    assert forget_old(table.store)["facts"] == 1
    assert count_old(table.store)["facts"] == 0


def test_held_outputs_that_are_old_are_found_by_an_index(table: Table) -> None:
    with table.store.writing() as writer:
        if table.store.remote:
            writer.execute("SET LOCAL enable_seqscan = off")  # a few rows are read at once
        explain = "EXPLAIN" if table.store.remote else "EXPLAIN QUERY PLAN"
        plan = writer.rows(f"{explain} SELECT run_id FROM held_outputs WHERE kept_until < 1")
    assert "ix_held_outputs_kept_until" in str(plan)
