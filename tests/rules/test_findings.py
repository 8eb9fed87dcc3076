from __future__ import annotations

from typing import Any

import pytest

from livedata.messages.validation import read as validated
from livedata.model.dataset import Column
from livedata.model.diagnosis.recorded_run import FieldFact, PageFact, RecordedRun, RunFacts
from livedata.model.harvest import StopReason
from livedata.model.requests import CreateDataset
from livedata.model.run import Run
from livedata.rules.changes.checks import judge
from livedata.rules.diagnosis.selectors import areas, entities
from livedata.rules.network.targets import TargetPolicy
from spiders.cli.trial import trial_recipe
from tests.made import declared, harvest

PRICE: Column = {
    "id": "price-id",
    "label": "Price",
    "ownership": "collected",
    "name": "price",
    "type": "number",
    "key": False,
}
NOTE: Column = {**PRICE, "id": "note-id", "label": "Note", "ownership": "user", "name": "note"}


def run(status: Any = "succeeded", **changes: Any) -> Run:
    """A Run that has ended, with the properties that findings use."""
    shape: Any = {
        "id": "run-id",
        "status": status,
        "checks": [],
        "error": None if status == "succeeded" else "It ended so.",
        **changes,
    }
    return shape  # type: ignore[no-any-return]  # findings use no others


def page(number: int, items: int, matches: int) -> PageFact:
    """A page with `items`; the selector of the price matched in `matches` of them."""
    url = f"https://shop.example/{number}"
    return {
        "url": url,
        "finalUrl": url,
        "status": 200,
        "title": None,
        "items": items,
        "matches": [matches],
    }


def field(populated: int, missing: int = 0, failed: int = 0) -> FieldFact:
    """The counts of the price."""
    return {
        "id": "price-id",
        "populated": populated,
        "notFound": missing,
        "extractionFailed": failed,
    }


def recorded(facts: RunFacts, *, rule: str = "natural_end", **changes: Any) -> RecordedRun:
    """The records of a Run of a source that has a price."""
    read = changes.pop("read", {"selector": ".price"})
    about: dict[str, Any] = {
        "run": run(),
        "attempt": "attempt-id",
        "stop": {"rule": rule, "inputs": {}},
        "facts": facts,
        "problem": None,
        "source": {"url": "https://shop.example/1", "fields": [{"name": "price", "read": read}]},
        "columns": [PRICE, NOTE],
        "composite": False,
        "rows": {},
        **changes,
    }
    return RecordedRun(**about)


@pytest.mark.parametrize(
    ("pages", "matches"),
    [
        ([page(1, 10, 10)], None),
        ([page(1, 0, 0)], None),
        (
            [page(1, 0, 0), page(2, 10, 0)],
            "none of 10 items; first on page 2 (https://shop.example/2).",
        ),
        (
            [page(1, 10, 10), page(2, 0, 0), page(3, 4, 3)],
            "13 of 14 items; fewest on page 3 (https://shop.example/3): in 3 of 4 items.",
        ),
    ],
)
def test_a_selector_is_told_by_how_many_items_it_matched(
    pages: list[PageFact], matches: str | None
) -> None:
    derived = areas.cells(recorded({"pages": pages, "fields": [field(10)]}))["findings"]
    expected = [] if matches is None else [f"price: selector '.price' matched in {matches}"]
    assert [finding["message"] for finding in derived] == expected


@pytest.mark.parametrize(
    ("read", "text"),
    [
        ({}, "the item itself"),
        ({"kind": "attribute", "attribute": "data-price"}, "attribute 'data-price' of the item"),
        ({"selector": "b", "attribute": "x"}, "attribute 'x' of selector 'b'"),
    ],
)
def test_a_read_is_told_as_it_was_written(read: dict[str, str], text: str) -> None:
    facts: RunFacts = {"pages": [page(1, 2, 1)], "fields": [field(1, 1)]}
    assert text in areas.cells(recorded(facts, read=read))["findings"][0]["message"]


def test_cells_that_cannot_be_read_are_told_without_an_example_where_none_was_kept() -> None:
    facts: RunFacts = {"pages": [page(1, 3, 3)], "fields": [field(1, 0, 2)]}
    (finding,) = areas.cells(recorded(facts))["findings"]
    assert finding["message"] == "price: 2 of 3 cells could not be read as its type."


def test_a_message_is_never_longer_than_1000_characters() -> None:
    checks = [{"checkId": "extraction", "passed": False, "message": "x" * 5000}]
    facts: RunFacts = {"pages": [], "fields": []}
    (finding,) = areas.cells(recorded(facts, run=run("failed", checks=checks)))["findings"]
    assert finding == {"code": "extraction_failed", "message": "x" * 1000}


def test_an_unknown_is_never_longer_than_1000_characters() -> None:
    address = f"https://shop.example/{'x' * 5000}"
    failure: Any = {"number": 2, "url": address, "reason": "timeout", "status": None}
    facts: RunFacts = {
        "pages": [page(1, 1, 1)],
        "failure": failure,
        "seen": [],
        "others": [],
        "othersLeftOut": 0,
        "rejected": {},
        "duplicates": 0,
    }
    told = recorded(facts, rule="page_failed", run=run("failed"))
    unknowns = [
        *areas.sources(told)["unknowns"],
        *entities.summarize(told)["unknowns"],
        *entities.diagnose(told, "A1", None)["unknowns"],
    ]
    assert max(map(len, unknowns)) == 1000


def test_the_address_of_the_request_is_a_uri() -> None:
    source = {"url": "https://ä.example:8080/ü?q=a b#x", "fields": []}
    asked = areas.request(recorded({}, source=source))["observations"]
    assert asked["sourceUrl"] == "https://xn--4ca.example:8080/%C3%BC?q=a%20b#x"


@pytest.mark.parametrize(
    ("check", "area", "code"),
    [
        ("coverage", areas.sources, "coverage_incomplete"),
        ("identity", areas.reconciliation, "identity_failed"),
        ("minimum-items", areas.cells, "too_few_items"),
        ("present:price-id", areas.cells, "required_field_empty"),
        ("a-check-of-tomorrow", areas.cells, "a_check_of_tomorrow_failed"),
    ],
)
def test_each_failed_check_is_a_finding_of_its_area(check: str, area: Any, code: str) -> None:
    checks = [{"checkId": check, "passed": False, "message": "Why."}]
    facts: RunFacts = {
        "pages": [page(1, 1, 1)],
        "fields": [field(1)],
        "rejected": {},
        "duplicates": 0,
        "duplicateExamples": [],
    }
    derived = area(recorded(facts, rule="check_failed", run=run("failed", checks=checks)))
    assert derived["findings"] == [{"code": code, "message": "Why."}]


def test_each_check_that_a_run_performs_is_a_finding_if_it_fails() -> None:
    source = validated(CreateDataset, declared(required=["price"]))
    recipe = trial_recipe(source, TargetPolicy())
    performed = [
        check.id for check in judge(harvest(recipe, (), StopReason("natural_end")), recipe).checks
    ]
    facts: RunFacts = {
        "pages": [page(1, 1, 1)],
        "fields": [field(1)],
        "rejected": {},
        "duplicates": 0,
        "duplicateExamples": [],
    }
    told = {}
    for name in performed:
        failed = run("failed", checks=[{"checkId": name, "passed": False, "message": name}])
        about = recorded(facts, rule="check_failed", run=failed)
        every = [areas.sources(about), areas.cells(about), areas.reconciliation(about)]
        told[name] = [each["message"] for area in every for each in area["findings"]]
    assert told == {name: [name] for name in performed}


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("max_pages", "stopped_by_limit"),
        ("max_items", "stopped_by_limit"),
        ("mass_loss", "mass_loss"),
        ("credits", "credits_missing"),
        ("worker_lost", "worker_lost"),
        ("cancelled", "cancelled"),
    ],
)
def test_what_stopped_a_run_is_a_finding_of_its_completion(rule: str, code: str) -> None:
    area = areas.completion(recorded({}, rule=rule, run=run("held")))
    assert area["findings"] == [{"code": code, "message": "It ended so."}]
    assert area["observations"]["stop"] == {"rule": rule, "inputs": {}}


def test_a_limit_is_told_once() -> None:
    checks = [{"checkId": "coverage", "passed": False, "message": "Why."}]
    held = recorded({"pages": []}, rule="max_pages", run=run("held", checks=checks))
    assert areas.sources(held)["findings"] == []


def test_a_lost_worker_left_nothing_but_its_end() -> None:
    lost = recorded({}, rule="worker_lost", run=run("failed"))
    for area in (areas.sources(lost), areas.cells(lost), areas.reconciliation(lost)):
        assert area["observations"] == {}
        assert area["unknowns"] == ["What this Run read was not recorded."]


def test_only_collected_fields_are_asked_for() -> None:
    described: Column = {**PRICE, "description": "In pounds."}
    area = areas.request(recorded({}, columns=[described, NOTE]))
    assert area["observations"]["plan"]["attributes"] == [
        {"fieldId": "price-id", "label": "Price", "description": "In pounds."}
    ]


def test_a_source_that_is_no_declaration_is_a_finding() -> None:
    area = areas.request(recorded({}, source=[], run=run("held")))
    assert (area["observations"], len(area["unknowns"])) == ({}, 1)
    assert area["findings"] == [{"code": "not_declarative", "message": "It ended so."}]
