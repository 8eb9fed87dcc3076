"""The drift guards at their limits: lost pagination, emptied fields, and what they are told as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.harvest import Harvest
from livedata.model.run import GUARDS, Run
from livedata.services import queries, runs
from livedata.services.commit import AcceptancePolicy
from livedata.services.run_report import RunReport
from livedata.store.database.store import Store
from tests import made
from tests.services.table import A, Item, Table, pages_of

pytestmark = pytest.mark.one_database

NEXT = {"kind": "next-link", "selector": "a.next"}


def rows(count: int, *, priced: int | None = None, first: int = 0) -> list[Item]:
    """Rows of which the first `priced` have a price; without it, all of them."""
    priced = count if priced is None else priced
    return [
        {**A, "sku": f"K{first + number:03}", "price": number + 1 if number < priced else None}
        for number in range(count)
    ]


def paged(store: Store) -> Table:
    """A dataset whose pages are found by a next link."""
    declared: Any = made.declared()
    return Table(store, {**declared, "source": {**declared["source"], "pagination": NEXT}})


def take(table: Table, *pages: list[Item], policy: AcceptancePolicy | None = None) -> Run:
    """A Run over pages of which each but the last has one next link."""
    attempt = table.begin()
    harvest = linked(pages_of(attempt.recipe, *pages))
    return table.finish(attempt, harvest, policy or AcceptancePolicy())


def linked(harvest: Harvest) -> Harvest:
    last = len(harvest.pages)
    pages = [replace(page, links=int(page.number < last)) for page in harvest.pages]
    return replace(harvest, pages=pages)


def held_by(table: Table, run: Run) -> str | None:
    """The code of what holds a Run; None if it was accepted."""
    problem = report(table, run).problem
    assert (run["status"] == "held") is (problem is not None)
    return None if problem is None else problem.code.removeprefix("run.")


def odd(table: Table, run: Run) -> list[str]:
    return [fact["code"].removeprefix("finding.") for fact in report(table, run).facts["odd"]]


def report(table: Table, run: Run) -> RunReport:
    return queries.run_report(table.store, "local", ids.RunId(ids.raw_id(run["id"])))


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        # 10 rows that are present, but not 9.
        ([rows(5), rows(5, first=5)], [rows(5)], "lost_pagination"),
        ([rows(5), rows(4, first=5)], [rows(5)], None),
        # A page that is as full as it was, or fuller; a list that became shorter ends less full.
        ([rows(6), rows(6, first=6)], [rows(5)], None),
        ([rows(6), rows(6, first=6)], [[*rows(6), *rows(1, first=50)]], "lost_pagination"),
        # Rows would be gone: not if the site shows all of them on one page now.
        ([rows(6), rows(6, first=6)], [rows(12)], None),
        # An earlier page than before: the second of three, but not the last.
        (
            [rows(6), rows(6, first=6), rows(2, first=12)],
            [rows(6), rows(6, first=6)],
            "lost_pagination",
        ),
        ([rows(6), rows(6, first=6)], [rows(6), rows(5, first=6)], None),
        ([rows(12)], [rows(11)], None),
        # The same, and most rows would be gone: the cause is told, not what follows from it.
        ([rows(10), rows(10, first=10), rows(5, first=20)], [rows(10)], "lost_pagination"),
    ],
)
def test_a_list_that_ends_early_on_a_full_page_is_held(
    store: Store, before: list[list[Item]], now: list[list[Item]], code: str | None
) -> None:
    table = paged(store)
    assert take(table, *before)["status"] == "succeeded"
    assert held_by(table, take(table, *now)) == code


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        # A value in at least 10 rows, and in at least half of them.
        ((10, 10), (10, 0), "emptied_field"),
        ((9, 9), (9, 0), None),
        ((20, 10), (20, 0), "emptied_field"),
        ((21, 10), (21, 0), None),
        # In less than a tenth of that share: all of 20 rows then, so less than 2 of 20 now.
        ((20, 20), (20, 1), "emptied_field"),
        ((20, 20), (20, 2), None),
        ((20, 10), (20, 1), None),
        # Shares are compared, also of a list that became longer.
        ((20, 20), (40, 3), "emptied_field"),
        ((20, 20), (40, 4), None),
        # And of one that became shorter, one value may be a tenth.
        ((20, 20), (11, 1), "emptied_field"),
        ((20, 20), (10, 1), None),
    ],
)
def test_a_field_that_was_emptied_is_held(
    table: Table, before: tuple[int, int], now: tuple[int, int], code: str | None
) -> None:
    table.take(*rows(before[0], priced=before[1]))
    assert held_by(table, table.take(*rows(now[0], priced=now[1]))) == code


@pytest.mark.parametrize("then", ["field", "pages"])
def test_a_cause_in_the_structure_is_never_confirmed_by_repetition(store: Store, then: str) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10), rows(10, first=20))
    # Beside a loss of most rows too, which by itself would be confirmed.
    broken = rows(10, priced=0 if then == "field" else 10)
    runs_held = [take(table, broken) for _ in range(3)]
    assert [run["status"] for run in runs_held] == ["held"] * 3
    assert table.dataset["rowCount"] == 30


def test_a_mass_loss_beside_a_structural_cause_confirms_no_later_mass_loss(store: Store) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10), rows(10, first=20))
    # The very rows that are gone later too, but the page is as full as it was.
    assert held_by(table, take(table, [*rows(9), *rows(1, first=50)])) == "lost_pagination"
    # Now on a page that is less full: a mass loss by itself, once held.
    assert held_by(table, take(table, rows(9))) == "mass_loss"
    assert take(table, rows(9))["status"] == "succeeded"


def test_a_mass_loss_confirms_no_later_run_with_a_structural_cause(store: Store) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10), rows(10, first=20))
    assert held_by(table, take(table, rows(9))) == "mass_loss"
    assert held_by(table, take(table, rows(9, priced=0))) == "emptied_field"


@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_that_is_off_holds_nothing_and_tells_it_as_odd(store: Store, guard: Any) -> None:
    table = paged(store)
    take(table, rows(12), rows(12, first=12))
    now = {
        "mass_loss": [rows(11)],
        "lost_pagination": [rows(12)],
        "emptied_field": [rows(12, priced=0), rows(12, first=12, priced=0)],
    }[guard]
    code = {
        "mass_loss": "rows_lost",
        "lost_pagination": "list_cut_short",
        "emptied_field": "field_emptied",
    }[guard]
    off = AcceptancePolicy(guards=frozenset(GUARDS) - {guard})
    assert held_by(table, take(table, *now)) == guard
    run = take(table, *now, policy=off)
    assert (run["status"], odd(table, run)[0]) == ("succeeded", code)


@pytest.mark.parametrize(
    ("before", "now", "code"),
    [
        ([rows(19)], [rows(9)], "rows_lost"),
        ([rows(4), rows(4, first=4)], [rows(4)], "list_cut_short"),
        ([rows(9)], [rows(9, priced=0)], "field_emptied"),
    ],
)
def test_a_smaller_table_is_taken_and_told_as_odd(
    store: Store, before: list[list[Item]], now: list[list[Item]], code: str
) -> None:
    table = paged(store)
    take(table, *before)
    run = take(table, *now)
    assert (run["status"], odd(table, run)) == ("succeeded", [code])


def test_a_lost_pagination_is_told_with_page_selector_and_what_was(store: Store) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10))
    run = take(table, rows(10))
    story = report(table, run)
    assert story.stop == {
        "rule": "mass_loss",
        "inputs": {
            "guard": "lost_pagination",
            "pagesBefore": 2,
            "items": 10,
            "itemsBefore": 10,
            "present": 20,
            "gone": 10,
        },
    }
    assert story.problem is not None
    assert story.problem.params == {
        "by": "next link",
        "selector": "a.next",
        "links": 0,
        "links_before": 1,
        "pages_before": 2,
        "items": 10,
        "items_before": 10,
        "leads_to": None,
        "present": 20,
        "gone": 10,
    }
    assert (story.problem.page, story.problem.url) == (1, made.URL)
    assert [remedy.code for remedy in story.problem.remedies] == [
        "preview",
        "revise",
        "accept_loss",
    ]


def test_a_less_full_page_that_still_links_on_has_lost_its_pagination(store: Store) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10))
    attempt = table.begin()
    harvest = linked(pages_of(attempt.recipe, rows(9)))
    follower = f"{made.URL}?page=2"
    (page,) = harvest.pages
    harvest = replace(harvest, pages=[replace(page, leads_to=follower)])
    run = table.finish(attempt, harvest)
    assert held_by(table, run) == "lost_pagination"
    told = report(table, run).problem
    assert told is not None
    assert told.params["leads_to"] == follower


def test_an_emptied_field_is_told_with_what_it_was(table: Table) -> None:
    table.take(*rows(20))
    run = table.take(*rows(20, priced=0))
    told = report(table, run).problem
    assert told is not None
    assert told.params == {
        "field": "price",
        "field_id": table.fields["price"],
        "type": "number",
        "selector": ".price",
        "attribute": None,
        "filled": 0,
        "rows": 20,
        "filled_before": 20,
        "rows_before": 20,
        "matched": 0,
        "items": 20,
        "unreadable": 0,
        "text": None,
    }
    assert (told.page, told.url) == (1, made.URL)
    inputs = report(table, run).stop["inputs"]
    assert (inputs["guard"], inputs["fieldId"]) == ("emptied_field", table.fields["price"])


def test_every_other_drift_of_a_held_run_is_kept_beside_its_problem(store: Store) -> None:
    table = paged(store)
    take(table, rows(10), rows(10, first=10), rows(10, first=20))
    run = take(table, rows(10, priced=0))
    assert held_by(table, run) == "lost_pagination"
    assert odd(table, run)[:2] == ["field_emptied", "rows_lost"]


def test_a_person_may_take_what_a_structural_guard_held(table: Table) -> None:
    table.take(*rows(20))
    run = table.take(*rows(20, priced=0))
    assert runs.accept(table.store, "local", ids.RunId(ids.raw_id(run["id"]))) == "succeeded"
    # From now on the emptied field is what there was.
    assert table.take(*rows(20, priced=0))["status"] == "succeeded"


def test_a_guard_compares_with_the_run_that_was_accepted_last_whatever_the_clock_says(
    table: Table, clock: Callable[[int], None]
) -> None:
    table.take(*rows(20, priced=0))
    clock(-7200)
    table.take(*rows(20))
    clock(-3600)
    assert held_by(table, table.take(*rows(20, priced=0))) == "emptied_field"
