"""A research Run from its start to rows, by what a harness hands over."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from livedata.model import ids
from livedata.model.ids import RunId
from livedata.model.problem import Problem
from livedata.model.research.outcome import ResearchOutcome
from livedata.services import queries, runs
from livedata.services.audit.check import check_store
from livedata.services.commit import AcceptancePolicy
from livedata.store.database.store import Store
from tests.services.research_table import (
    ACME,
    BOLT,
    PAGE,
    STANDS,
    ResearchTable,
    found_on,
    key_of,
    page_of,
)

MANY = {f"Maker {number:02}": ACME for number in range(20)}


@pytest.fixture
def table(store: Store) -> ResearchTable:
    return ResearchTable(store)


def balance(table: ResearchTable) -> int:
    return queries.usage(table.store, "local")["balance"]


def test_what_was_found_becomes_rows(table: ResearchTable) -> None:
    run = table.take({"Acme": ACME, "Bolt": BOLT})
    assert (run["status"], run["rowDeltas"]["new"], run["error"]) == ("succeeded", 2, None)
    assert [check["checkId"].partition(":")[0] for check in run["checks"]] == [
        *("coverage", "identity", "extraction", "minimum-items"),
        *["present"] * 3,
    ]
    assert table.cells("Acme") == {
        "Company": "Acme",
        "Evidence": "Acme, a maker",
        "Source": PAGE,
        "Founded": "1999",
        "City": "Bern",
    }
    assert table.dataset["rowCount"] == 2
    assert check_store(table.store).problems == []


def test_a_row_says_what_it_stands_for(table: ResearchTable) -> None:
    table.take({"Acme": ACME})
    row = table.rows()["Acme"]
    assert row["rowKey"] == key_of("Acme")
    assert row["identity"] == {
        "version": 1,
        "key": key_of("Acme"),
        "kind": "company",
        "anchor": "acme",
        "aliases": ["Acme"],
    }
    assert table.row("Acme")["identity"] == row["identity"]


def test_each_cell_leads_to_its_words_and_the_source_to_those_of_the_name(
    table: ResearchTable,
) -> None:
    table.take({"Acme": {**ACME, "City": None}, "Bolt": BOLT})
    row, fields = table.row("Bolt"), table.fields
    (observation,) = row["observations"]
    assert observation["method"] == "model"
    texts = {entry["id"]: entry["excerpt"] for entry in observation["entries"]}
    said = {
        label: [texts[ref["entryId"]] for ref in row["evidence"][field]]
        for label, field in fields.items()
    }
    assert said == {
        "Company": ["Bolt, a maker"],
        "Evidence": ["Bolt, a maker"],
        "Source": ["Bolt, a maker"],
        "Founded": ["it says 2004"],
        "City": ["it says Basel"],
    }
    assert [ref["entryId"] for ref in row["evidence"][fields["Source"]]] == ["2/name"]
    assert fields["City"] not in table.row("Acme")["evidence"]
    assert table.row("Acme")["missingReasons"] == {fields["City"]: "not_found"}
    assert [change["evidence"] for change in table.feed()] == [
        table.row(name)["evidence"] for name in ("Acme", "Bolt")
    ]


def test_a_run_that_finds_the_same_writes_no_revision_and_costs_its_pages(
    table: ResearchTable,
) -> None:
    table.take({"Acme": ACME}, pages=2)
    before, cost = table.feed(), balance(table)
    run = table.take({"Acme": ACME}, pages=3)
    assert (run["status"], run["rowDeltas"]) == ("succeeded", {"new": 0, "changed": 0, "gone": 0})
    assert (table.feed(), balance(table)) == (before, cost - 3)


def test_a_row_that_nobody_saw_stands_as_it_stood(table: ResearchTable) -> None:
    table.take({"Acme": ACME, "Bolt": BOLT})
    before = table.rows()["Bolt"]
    run = table.take({"Acme": ACME})
    assert run["rowDeltas"]["gone"] == 0
    assert table.rows()["Bolt"] == {**before, "status": "unchanged"}


def test_a_row_that_its_page_gives_up_is_gone_and_may_return(table: ResearchTable) -> None:
    table.take({"Acme": ACME, "Bolt": BOLT})
    run = table.take({"Acme": ACME}, gone=["Bolt"])
    assert (run["rowDeltas"]["gone"], table.rows()["Bolt"]["presence"]) == (1, "missing")
    table.take({"Acme": ACME}, gone=["Bolt"])
    assert [change["kind"] for change in table.feed()] == ["created", "created", "missing"]
    assert table.take({"Bolt": BOLT})["rowDeltas"]["changed"] == 1
    assert table.dataset["rowCount"] == 2
    assert check_store(table.store).problems == []


def test_a_cell_that_stands_keeps_its_value_and_what_it_rests_on(table: ResearchTable) -> None:
    table.take({"Acme": ACME})
    before = table.row("Acme")["evidence"]
    run = table.take({"Acme": {"Founded": STANDS, "City": "Genf"}})
    row, fields = table.row("Acme"), table.fields
    assert (run["rowDeltas"]["changed"], table.cells("Acme")["Founded"]) == (1, "1999")
    assert table.feed()[-1]["changedFieldIds"] == [fields["City"]]
    assert row["evidence"][fields["Founded"]] == before[fields["Founded"]]
    assert row["evidence"][fields["City"]] != before[fields["City"]]
    assert len(row["observations"]) == 2
    assert check_store(table.store).problems == []


def test_the_value_of_a_person_stays_over_a_cell_that_stands(table: ResearchTable) -> None:
    table.take({"Acme": ACME})
    table.edit("Acme", "Founded", "2000")
    table.take({"Acme": {"Founded": STANDS, "City": "Genf"}})
    assert table.cells("Acme")["Founded"] == "2000"
    (override,) = table.row("Acme")["overrides"].values()
    assert override["value"] == "1999"
    assert check_store(table.store).problems == []


@pytest.mark.parametrize(("present", "gone", "status"), [(20, 6, "succeeded"), (19, 6, "held")])
def test_more_than_five_rows_and_three_in_ten_are_held(
    table: ResearchTable, present: int, gone: int, status: str
) -> None:
    names = list(MANY)[:present]
    table.take(dict.fromkeys(names, ACME))
    run = table.take({names[-1]: ACME}, gone=names[:gone])
    assert run["status"] == status


def test_a_loss_is_taken_by_a_person_a_second_run_or_with_the_guard_off(
    table: ResearchTable,
) -> None:
    table.take(MANY)
    names = list(MANY)
    held = table.take({names[-1]: ACME, "New": BOLT}, gone=names[:10])
    assert check_store(table.store).problems == []
    assert runs.accept(table.store, "local", RunId(ids.raw_id(held["id"]))) == "succeeded"
    assert (table.dataset["rowCount"], table.cells("New")["Founded"]) == (11, "2004")
    identity = table.rows()["New"]["identity"]
    assert identity is not None
    assert identity["aliases"] == ["New"]
    table.take({"New": BOLT}, gone=names[10:])
    assert table.take({"New": BOLT}, gone=names[10:])["status"] == "succeeded"
    table.take(MANY)
    off = AcceptancePolicy(mass_loss=None)
    assert table.take({"New": BOLT}, gone=names, policy=off)["rowDeltas"]["gone"] == 20
    assert check_store(table.store).problems == []


def test_other_rows_that_are_gone_confirm_nothing(table: ResearchTable) -> None:
    table.take(MANY)
    names = list(MANY)
    table.take({names[-1]: ACME}, gone=names[:10])
    assert table.take({names[-1]: ACME}, gone=names[1:11])["status"] == "held"


def spoiled(outcome: ResearchOutcome, kind: str) -> ResearchOutcome:
    """What was found, with something wrong about it."""
    unread = replace(page_of(1), outcome="unreadable", digest=None)
    if kind == "unknown":
        pages = [page_of(1), *(replace(page_of(n), outcome="unknown") for n in (2, 3))]
        return replace(outcome, pages=pages)
    if kind == "nobody":
        return replace(outcome, rows=[])
    if kind == "twice":
        return replace(outcome, rows=[*outcome.rows, *outcome.rows])
    if kind == "nameless":
        (row,) = outcome.rows
        first = replace(row.cells[0], value=None)
        return replace(outcome, rows=[replace(row, cells=[first, *row.cells[1:]])])
    if kind == "refused":
        return replace(outcome, pages=[replace(unread, refused=True)], rows=[])
    if kind == "unread":
        return replace(outcome, pages=[unread], rows=[])
    if kind == "plan":
        return ResearchOutcome("planning_failed", [], [])
    if kind == "cancelled":
        return ResearchOutcome("cancelled", [], [])
    return replace(outcome, stop="model_auth", problem=Problem("research.model_auth"))


@pytest.mark.parametrize(
    ("kind", "status", "failed", "said"),
    [
        ("unknown", "failed", ["extraction"], "1 of 3 pages that could be read"),
        ("nobody", "failed", ["minimum-items"], "Nothing that fits"),
        ("twice", "failed", ["identity"], "Acme has one key"),
        ("nameless", "failed", ["present"], "name is required and empty in 1 of 1 row,"),
        ("refused", "blocked", [], "All of 1 page refused"),
        ("unread", "failed", ["extraction", "minimum-items"], "None of 1 page could be read"),
        ("plan", "failed", [], "no plan that can be used"),
        ("cancelled", "failed", [], "cancelled"),
        ("key", "failed", ["coverage"], "refused its key"),
    ],
)
def test_a_run_that_is_not_accepted_says_why_and_is_free(
    table: ResearchTable, kind: str, status: str, failed: list[str], said: str
) -> None:
    cost = balance(table)
    attempt = table.begin()
    table.remember(attempt)
    run = table.finish(attempt, spoiled(found_on(attempt, {"Acme": ACME}), kind))
    checks = [check["checkId"] for check in run["checks"] if not check["passed"]]
    assert (run["status"], [check.partition(":")[0] for check in checks]) == (status, failed)
    assert said in str(run["error"])
    assert (table.rows(), balance(table)) == ({}, cost)
    assert check_store(table.store).problems == []


def test_a_limit_that_was_reached_is_told_and_the_run_is_judged_by_what_it_checked(
    table: ResearchTable,
) -> None:
    run = table.take({"Acme": ACME}, stop="page_budget")
    report = queries.run_report(table.store, "local", RunId(ids.raw_id(run["id"])))
    assert (run["status"], report.stop["rule"], report.charged) == ("succeeded", "page_budget", 1)
