from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from livedata.model.diagnosis.recorded_research import Discovery, RecordedResearch
from livedata.model.diagnosis.recorded_run import RowAtRun
from livedata.model.research.answers import CallUsage, SearchResult
from livedata.model.research.record import ResearchFact
from livedata.rules.diagnosis.research import areas, ending, entities, pages
from tests.api.contract import wrong
from tests.api.kinds import a
from tests.rules.research import (
    LIST,
    RECIPE,
    REST,
    TOP,
    World,
    fact,
    failure,
    recorded,
    row,
    run,
    worked_example,
)

EXAMPLE = worked_example()
SEARCHED = Discovery(
    "companies",
    "basic",
    credits=1.0,
    results=[SearchResult(1, LIST, "A list", 0.5), SearchResult(2, "ftp://x.example/", "")],
)
A_CALL = CallUsage("openai", "m-1", input_tokens=10, output_tokens=3, usd=0.25)


def test_the_question_and_its_plan_are_told_once_it_is_pinned() -> None:
    area = areas.request(EXAMPLE)
    assert area["observations"]["prompt"] == "Which companies?"
    assert area["observations"]["sourceUrl"] == "urn:livedata:search"
    plan = area["observations"]["plan"]
    assert (plan["title"], plan["nameLabel"]) == ("Companies", "Company")
    assert [each["label"] for each in plan["attributes"]] == ["City", "Founded"]
    unplanned = areas.request(replace(EXAMPLE, recipe=replace(RECIPE, plan=None)))
    assert "plan" not in unplanned["observations"]
    assert len(unplanned["unknowns"]) == 1


def test_a_trace_has_the_results_of_the_search_with_what_became_of_each() -> None:
    made = replace(EXAMPLE, discovery=SEARCHED)
    assert pages.discovery_traced(made) == {
        "attemptId": "019a0000-0000-7000-8000-000000000001",
        "query": "companies",
        "depth": "basic",
        "excludeDomains": [],
        "credits": 1.0,
        "candidates": [
            {"rank": 1, "url": LIST, "title": "A list", "score": 0.5, "outcome": "checked"},
            {"rank": 2, "url": "ftp://x.example/", "outcome": "unattempted"},
        ],
    }
    observed = areas.sources(made)["observations"]
    assert "candidates" not in observed["discovery"]
    assert observed["candidates"][0]["title"] == "A list"
    assert pages.discovery_traced(EXAMPLE) is None
    assert "discovery" not in areas.sources(EXAMPLE)["observations"]


def _pages(**outcomes: int) -> list[ResearchFact]:
    facts = []
    for kind, count in outcomes.items():
        for number in range(count):
            url = f"https://{kind}.example/{number}"
            facts += [
                fact("discovery", "candidate_found", url),
                fact("selection", "page_selected", url),
            ]
            facts += {
                "checked": [
                    fact("retrieval", "page_read", url),
                    fact("extraction", "page_checked", url),
                ],
                "refused": [failure("retrieval", "read_forbidden", url)],
                "broken": [failure("retrieval", "read_network", url)],
            }[kind]
    return facts


CHECKED = "https://checked.example/0"
# Pages that a person has named are of one host because they were named.
NAMED = [fact for fact in _pages(checked=2) if fact.code != "candidate_found"]


@pytest.mark.parametrize(
    ("facts", "codes"),
    [
        (_pages(checked=1), []),
        (_pages(checked=2), ["single_host"]),
        (_pages(checked=3, broken=2), ["single_host"]),
        (_pages(checked=2, broken=2), ["most_pages_unreadable", "single_host"]),
        (NAMED, []),
        (_pages(refused=2), ["all_pages_refused"]),
        (_pages(refused=1, broken=1), ["most_pages_unreadable"]),
        (
            [*_pages(checked=1), fact("discovery", "candidate_found", REST)],
            ["candidates_left"],
        ),
        ([*_pages(checked=1), fact("retrieval", "text_cut", CHECKED)], ["pages_cut"]),
        ([*_pages(checked=1), failure("extraction", "row_cap_reached", CHECKED)], ["pages_cut"]),
    ],
)
def test_findings_of_the_pages_follow_from_their_counts(
    facts: list[ResearchFact], codes: list[str]
) -> None:
    assert [each["code"] for each in areas.sources(recorded(facts))["findings"]] == codes


def _rows(cities: str) -> RecordedResearch:
    """A row for each letter: v has a city, n none was found, f it was refused."""
    cells: dict[str, tuple[str | None, Any]] = {
        "v": ("Bonn", None),
        "n": (None, "not_found"),
        "f": (None, "extraction_failed"),
    }
    facts, rows = list[ResearchFact](), dict[str, RowAtRun]()
    for number, letter in enumerate(cities):
        key = f"k{number}"
        facts.append(fact("reconciliation", "row_kept", LIST, key, key=key))
        named: list[tuple[str | None, Any]] = [(key, None), (key, None), (LIST, None)]
        rows[key] = row(key, [*named, cells[letter], ("1999", None)])
    return recorded(facts, rows=rows)


@pytest.mark.parametrize(
    ("cities", "codes"),
    [
        ("vvvvvvvvff", []),
        ("vvvvvvvfff", ["field_often_failed"]),
        ("nn", ["field_never_found"]),
        ("ff", ["field_never_found", "field_often_failed"]),
    ],
)
def test_findings_of_a_field_follow_from_its_cells(cities: str, codes: list[str]) -> None:
    area = areas.cells(_rows(cities))
    assert [each["code"] for each in area["findings"]] == codes
    counts = area["observations"]["fields"][3]
    assert (counts["populated"], counts["notFound"], counts["extractionFailed"]) == (
        *(cities.count("v"), cities.count("n"), cities.count("f")),
    )
    assert area["observations"]["rowsFromRun"] == len(cities)
    assert area["observations"]["rowsInTable"] == len(cities)


def test_findings_of_the_reconciliation_follow_from_what_was_refused() -> None:
    codes = [each["code"] for each in areas.reconciliation(EXAMPLE)["findings"]]
    assert codes == ["many_rows_rejected", "many_quotes_dropped"]
    assert areas.reconciliation(_rows("vv"))["findings"] == []


@pytest.mark.parametrize(
    ("rule", "status", "codes"),
    [
        ("all_selected_pages_checked", "succeeded", []),
        ("page_budget", "succeeded", ["stopped_by_limit"]),
        ("deadline", "succeeded", ["stopped_by_limit"]),
        ("mass_loss", "held", ["mass_loss"]),
        ("check_failed", "blocked", ["site_refused"]),
        ("worker_lost", "failed", ["worker_lost"]),
    ],
)
def test_the_end_of_a_run_is_told_by_its_rule(rule: str, status: str, codes: list[str]) -> None:
    error = None if status == "succeeded" else "It ended so."
    made = replace(EXAMPLE, run=run(status, error), stop={"rule": rule, "inputs": {}})
    area = ending.completion(made)
    assert [each["code"] for each in area["findings"]] == codes
    assert area["observations"]["stop"]["rule"] == rule


def test_what_a_run_took_is_summed_up_and_what_nobody_told_is_said() -> None:
    free = CallUsage("searxng", search_credits=None)
    untold = CallUsage("openai", "m-2")
    assert ending.usage([A_CALL, A_CALL, untold, free]) == {
        "inputTokens": 20,
        "outputTokens": 6,
        "modelUsd": 0.5,
    }
    assert list(ending.usage_unknowns([A_CALL, A_CALL, untold, free])) == [
        "The price of 1 of 3 model calls is not known (model m-2).",
        "The tokens of 1 of 3 model calls are not known.",
        "What 1 of 1 search call took is not known.",
    ]
    # Without a call nothing was taken, and that is known.
    assert ending.usage([]) == dict.fromkeys(
        ("searchCredits", "inputTokens", "outputTokens", "modelUsd"), 0
    )
    assert list(ending.usage_unknowns([])) == []


@pytest.mark.parametrize("seed", range(20))
def test_every_answer_has_the_shape_of_the_interface(seed: int) -> None:
    world = replace(World(seed).recorded(), discovery=SEARCHED)
    for made in (world, replace(world, facts=[], rows={}, stop=None, run=run("queued"))):
        answers = {
            "RequestArea": areas.request(made),
            "SourcesArea": areas.sources(made),
            "CellsArea": areas.cells(made),
            "ReconciliationArea": areas.reconciliation(made),
            "CompletionArea": ending.completion(made),
            "RunLossSummary": entities.summarize(made),
            "EntityDiagnosis": entities.diagnose(made, "Name 1", None),
        }
        for table, answer in answers.items():
            assert [  # field ids and row ids are made up here
                each for each in wrong(answer, a(table), table) if "fieldId" not in each
            ] == []


def test_an_output_is_complete_only_if_all_that_was_found_was_read_and_taken() -> None:
    whole = _pages(checked=2)
    assert entities.summarize(recorded(whole))["outputComplete"]
    for facts in (
        [*whole, fact("retrieval", "text_cut", TOP)],
        [*whole, failure("extraction", "row_cap_reached", TOP)],
        [*whole, fact("discovery", "candidate_found", TOP)],
        [*whole, *_pages(broken=1)],
    ):
        assert not entities.summarize(recorded(facts))["outputComplete"]
    held = recorded(whole, run=run("held", "Look at it."))
    assert not entities.summarize(held)["outputComplete"]
