"""How a Run ends: blocked, failed, held or accepted, and what it leaves behind."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from livedata.messages.render import sentence
from livedata.model import ids
from livedata.model.errors import Conflict
from livedata.model.harvest import Harvest, PageFailure, StopReason
from livedata.model.run import FailureReason
from livedata.services import attempts, queries, runs
from livedata.store.database.store import Store
from tests import made
from tests.made import CANCELLED, GOES_ON, LOOPS, REFUSED
from tests.services.table import A, B, C, Table, pages_of

OWN = ("runs", "attempts", "held_outputs", "failed_pages")
"""The tables of which some belong to a Run itself."""


@pytest.mark.parametrize("rule", ["max_pages", "max_items"])
def test_a_limit_before_the_natural_end_holds_the_run_and_is_never_taken(
    table: Table, rule: Any
) -> None:
    attempt = table.begin()
    run = table.finish(attempt, pages_of(attempt.recipe, [A], ending=StopReason(rule, GOES_ON)))
    assert (run["status"], run["error"]) == ("held", sentence(GOES_ON))
    with pytest.raises(Conflict, match="coverage was incomplete"):
        runs.accept(table.store, "local", attempt.run)


def test_a_limit_with_another_failed_check_fails_and_says_that_check(store: Store) -> None:
    table = Table(store, made.declared(required=["price"]))
    attempt = table.begin()
    ending = StopReason("max_pages", GOES_ON)
    run = table.finish(attempt, pages_of(attempt.recipe, [C], ending=ending))
    assert run["status"] == "failed"
    assert str(run["error"]).startswith("price is required")


@pytest.mark.parametrize(
    ("pages", "reason", "refusals", "status"),
    [
        (0, "forbidden", 3, "blocked"),
        (0, "forbidden", 2, "failed"),
        (0, "http_error", 3, "failed"),
        (1, "forbidden", 3, "failed"),
    ],
)
def test_blocked_is_only_what_was_refused_from_first_to_last(
    table: Table, pages: int, reason: FailureReason, refusals: int, status: str
) -> None:
    attempt = table.begin()
    pages_read = pages_of(attempt.recipe, [A]).pages[:pages]
    reason_to_stop = StopReason("page_failed", REFUSED)
    run = table.finish(attempt, Harvest(pages_read, reason_to_stop, _failure(reason), 3, refusals))
    assert (run["status"], run["error"]) == (status, sentence(REFUSED))
    assert (run["checks"] == []) is (status == "blocked")
    assert run["rowDeltas"] == {"new": 0, "changed": 0, "gone": 0}


def test_a_cancelled_run_fails_and_nothing_was_judged(table: Table) -> None:
    run = table.finish(table.begin(), Harvest([], StopReason("cancelled", CANCELLED)))
    assert (run["status"], run["checks"], run["error"]) == ("failed", [], "The Run was cancelled.")


def test_the_checks_of_a_judged_run_are_all_there_in_order(store: Store) -> None:
    table = Table(store, made.declared(required=["price", "title"]))
    run = table.take(C)
    named = [f"present:{table.fields[name]}" for name in ("title", "price")]
    wanted = ["coverage", "identity", "extraction", "minimum-items", *named]
    assert [check["checkId"] for check in run["checks"]] == wanted
    assert [check["checkId"] for check in run["checks"] if not check["passed"]] == [named[1]]


@pytest.mark.parametrize("source", ["[]", "{}", '{"version":2}', '{"version":1,"url":"x"}'])
def test_a_recipe_that_is_no_declaration_is_held_without_an_attempt_to_execute(
    table: Table, source: str
) -> None:
    table.take(A)
    with table.store.writing() as writer:
        writer.execute("UPDATE recipes SET source = :source", source=source)
    run, _ = runs.enqueue(table.store, "local", table.id)
    rows = table.rows()
    assert attempts.begin(table.store, ids.RunId(ids.raw_id(run))) is None
    held = queries.run(table.store, "local", ids.RunId(ids.raw_id(run)))
    assert (held["status"], held["checks"], table.rows()) == ("held", [], rows)
    with pytest.raises(Conflict):
        runs.accept(table.store, "local", ids.RunId(ids.raw_id(run)))


@pytest.mark.parametrize("ending", ["failed", "blocked", "held", "guarded"])
def test_a_run_that_is_not_accepted_leaves_every_other_table_byte_for_byte(
    table: Table, ending: str
) -> None:
    items = _many(20)
    table.take(*items)
    before = table.dump(*OWN)
    attempt = table.begin()
    whole = pages_of(attempt.recipe, items[:5])
    harvest = {
        "failed": replace(whole, ending=StopReason("check_failed", LOOPS)),
        "blocked": Harvest([], StopReason("page_failed", REFUSED), _failure("challenge"), 1, 1),
        "held": replace(whole, ending=StopReason("max_items", GOES_ON)),
        "guarded": whole,
    }[ending]
    run = table.finish(attempt, harvest)
    assert run["status"] == ("held" if ending == "guarded" else ending)
    assert run["error"]
    assert table.dump(*OWN) == before


def test_a_run_stores_at_its_end_what_explains_it(table: Table) -> None:
    run = table.take_pages([A, C], [B])
    story = queries.run_report(table.store, "local", ids.RunId(ids.raw_id(run["id"])))
    assert story.stop["rule"] == "natural_end"
    assert (story.facts["head"], story.facts["checked"], story.charged) == (3, 2, 2)
    assert [page["items"] for page in story.facts["pages"]] == [2, 1]
    counts = {field["id"]: field for field in story.facts["fields"]}
    price = counts[table.fields["price"]]
    assert (price["populated"], price["notFound"], price["extractionFailed"]) == (2, 1, 0)


def test_an_item_that_cannot_be_read_is_kept_as_offending(table: Table) -> None:
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, [A, C])
    record = harvest.pages[0].records[1]
    place = record.values.index(None)
    record.reasons[place], record.texts[place] = "extraction_failed", "3 for 2"
    run = table.finish(attempt, harvest)
    story = queries.run_report(table.store, "local", ids.RunId(ids.raw_id(run["id"])))
    (offending,) = story.facts["offending"]
    assert (run["status"], offending["page"], offending["item"]) == ("succeeded", 1, 2)
    assert "3 for 2" in str(offending)


def _many(count: int) -> list[dict[str, Any]]:
    return [{**A, "sku": f"K{number:03}"} for number in range(count)]


def _failure(reason: FailureReason) -> PageFailure:
    return PageFailure(1, made.URL, reason, 403, "https://shop.example", REFUSED)
