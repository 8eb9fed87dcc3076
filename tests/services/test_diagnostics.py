from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from livedata.messages.validation import read
from livedata.model import ids
from livedata.model.diagnosis.diagnostics import Finding, RunDiagnostics
from livedata.model.diagnosis.entities import EntityDiagnosis, RunLossSummary
from livedata.model.errors import BadRequest
from livedata.model.harvest import Harvest, PageFailure, Step, StopReason
from livedata.model.requests import UpdateDataset
from livedata.model.row import Scalar
from livedata.model.run import Run
from livedata.services import attempts, datasets, diagnostics, runs
from livedata.services.commit import AcceptancePolicy
from livedata.store import runs as stored_runs
from livedata.store.database.store import Store
from tests import made
from tests.api.contract import wrong
from tests.api.kinds import a
from tests.crawling import Crawling, shop_source
from tests.made import BROKEN, GOES_ON
from tests.services.table import A, B, C, Table, pages_of
from tests.shop import Item, shop, some_items
from tests.site import Site

pytestmark = pytest.mark.one_database

AREAS = ("request", "sources", "cells", "reconciliation", "completion")
MANY = [{"sku": f"S{number:02}", "title": "x"} for number in range(30)]


def explained(store: Store, run: Run, **asked: Any) -> RunDiagnostics:
    """The diagnostics of a Run, held against the interface on the way."""
    answer = diagnostics.diagnostics(store, "local", ids.RunId(ids.raw_id(run["id"])), **asked)
    assert list(wrong(answer, a("RunDiagnostics"), "diagnostics")) == []
    for name in (*AREAS, "cost"):
        assert all(answer[name]["unknowns"])  # type: ignore[literal-required]  # names of it
    for finding in findings(answer):
        assert finding["code"]
        assert finding["message"]
    return answer


def findings(answer: RunDiagnostics) -> list[Finding]:
    return [finding for name in AREAS for finding in answer[name]["findings"]]  # type: ignore[literal-required]


def messages(answer: RunDiagnostics, code: str) -> list[str]:
    return [finding["message"] for finding in findings(answer) if finding["code"] == code]


def codes(answer: RunDiagnostics) -> list[str]:
    return [finding["code"] for finding in findings(answer)]


def entity(store: Store, run: Run, name: str, field: str | None = None) -> EntityDiagnosis:
    return explained(store, run, entity=name, field=field)["entity"]


def summary(store: Store, run: Run) -> RunLossSummary:
    losses = explained(store, run, summary=True)["summary"]
    totals = losses["totals"]
    assert totals["entities"] == len(losses["entities"])
    outcomes = totals["present"] + totals["absent"] + totals["unknown"] + totals["ambiguous"]
    assert totals["entities"] == outcomes
    return losses


def crawled(crawling: Crawling, site: Site, pages: Mapping[str, str], **source: Any) -> Run:
    """A Run over these pages of a shop."""
    site.pages(pages)
    dataset = crawling.create(shop_source(site.at("/page/1.html"), **source), allow=site.host)
    return crawling.run(dataset, allow=site.host)


def ended(
    table: Table,
    *pages: Sequence[Mapping[str, Scalar]],
    rule: Any = "natural_end",
    failure: PageFailure | None = None,
) -> Run:
    """A Run that read `pages` and then ended so."""
    attempt = table.begin()
    harvest = pages_of(attempt.recipe, *pages, ending=StopReason(rule, GOES_ON))
    return table.finish(attempt, replace(harvest, failure=failure))


def failed_page(number: int, url: str = made.URL) -> PageFailure:
    return PageFailure(number, url, "http_error", 500, None, replace(BROKEN, page=number, url=url))


# What each area observes.


def test_a_healthy_crawl_has_observations_and_no_findings(crawling: Crawling, site: Site) -> None:
    run = crawled(crawling, site, shop(some_items(12)))
    answer = explained(crawling.store, run)
    assert codes(answer) == []
    assert [answer[name]["unknowns"] for name in AREAS] == [[]] * 5  # type: ignore[literal-required]
    assert answer["request"]["observations"]["sourceUrl"] == site.at("/page/1.html")
    plan = answer["request"]["observations"]["plan"]
    assert [attribute["label"] for attribute in plan["attributes"]] == [
        "sku",
        "name",
        "price",
        "stock",
    ]
    observed = answer["sources"]["observations"]
    assert observed["counts"] == {
        "discovered": 3,
        "checked": 3,
        "unreadable": 0,
        "unknown": 0,
        "unattempted": 0,
    }
    assert observed["candidates"][1] == {
        "rank": 2,
        "url": site.at("/page/2.html"),
        "title": "Shop, page 2",
        "outcome": "checked",
    }
    cells = answer["cells"]["observations"]
    assert (cells["rowsFromRun"], cells["rowsInTable"]) == (12, 12)
    assert [field["populated"] for field in cells["fields"]] == [12] * 4
    assert answer["reconciliation"]["observations"] == {"rejected": {}, "duplicates": []}
    assert answer["completion"]["observations"] == {
        "status": "succeeded",
        "stop": {"rule": "natural_end", "inputs": {"pagesRead": 3, "itemsFound": 12}},
    }
    cost = answer["cost"]["observations"]
    assert set(cost) == {"queueMs", "wallMs", "phases"}


def test_a_selector_that_matched_nothing_is_named(crawling: Crawling, site: Site) -> None:
    pages = {path: body.replace("price", "cost") for path, body in shop(some_items(12)).items()}
    answer = explained(crawling.store, crawled(crawling, site, pages))
    (message,) = messages(answer, "selector_matched_nothing")
    assert "price: selector '.price' matched in none of 12 items" in message
    assert site.at("/page/1.html") in message


def test_a_selector_that_matched_on_some_items_is_named_with_its_worst_page(
    crawling: Crawling, site: Site
) -> None:
    pages = shop(some_items(12))
    pages["/page/2.html"] = pages["/page/2.html"].replace("price", "cost", 3)
    answer = explained(crawling.store, crawled(crawling, site, pages))
    (message,) = messages(answer, "selector_matched_some")
    assert "matched in 9 of 12 items" in message
    assert f"page 2 ({site.at('/page/2.html')}): in 2 of 5 items" in message


def test_a_cell_that_cannot_be_read_is_shown(crawling: Crawling, site: Site) -> None:
    run = crawled(crawling, site, shop([Item("A", "Lamp", "ask us"), Item("B", "Mug", "£2")]))
    (message,) = messages(explained(crawling.store, run), "cells_unreadable")
    assert message.startswith("price: 1 of 2 cells could not be read as its type")
    assert "item 1 of page 1" in message
    assert "'ask us'" in message


def test_a_page_that_refuses_is_unreadable_and_leaves_an_unknown(
    crawling: Crawling, site: Site
) -> None:
    pages = shop(some_items(12))
    site.page("/page/2.html", "no", status=403)
    del pages["/page/2.html"]
    answer = explained(crawling.store, crawled(crawling, site, pages))
    assert codes(answer) == ["page_refused"]
    assert answer["sources"]["observations"]["counts"]["unreadable"] == 1
    assert [
        candidate["outcome"] for candidate in answer["sources"]["observations"]["candidates"]
    ] == [
        "checked",
        "unreadable",
    ]
    assert site.at("/page/2.html") in answer["sources"]["unknowns"][0]
    stop = answer["completion"]["observations"]["stop"]
    assert stop == {
        "rule": "page_failed",
        "inputs": {"page": 2, "reason": "forbidden", "status": 403},
    }


def test_a_site_that_refuses_everything_is_told_at_the_end(crawling: Crawling, site: Site) -> None:
    site.page("/page/1.html", "no", status=403)
    answer = explained(crawling.store, crawled(crawling, site, {}))
    assert answer["status"] == "blocked"
    assert codes(answer) == ["page_refused", "site_refused"]


def test_a_page_without_items_is_named(crawling: Crawling, site: Site) -> None:
    pages = {**shop(some_items(12)), "/page/2.html": "<html><body>Back soon</body></html>"}
    answer = explained(crawling.store, crawled(crawling, site, pages))
    (message,) = messages(answer, "extraction_failed")
    assert site.at("/page/2.html") in message
    assert "'li.product'" in message
    stop = answer["completion"]["observations"]["stop"]
    assert stop["inputs"] == {"failedChecks": ["extraction"]}


def test_a_limit_that_cut_the_list_is_told_with_its_inputs(crawling: Crawling, site: Site) -> None:
    answer = explained(crawling.store, crawled(crawling, site, shop(some_items(12)), maxPages=2))
    assert codes(answer) == ["stopped_by_limit"]
    stop = answer["completion"]["observations"]["stop"]
    assert stop == {"rule": "max_pages", "inputs": {"maxPages": 2, "pagesRead": 2}}
    counts = answer["sources"]["observations"]["counts"]
    assert (counts["discovered"], counts["unattempted"]) == (3, 1)
    assert len(answer["sources"]["unknowns"]) == 1


def test_too_many_items_are_told_with_their_inputs(crawling: Crawling, site: Site) -> None:
    answer = explained(crawling.store, crawled(crawling, site, shop(some_items(12)), maxItems=6))
    stop = answer["completion"]["observations"]["stop"]
    assert stop == {"rule": "max_items", "inputs": {"maxItems": 6, "itemsFound": 10}}


def test_a_key_of_two_records_is_rejected(crawling: Crawling, site: Site) -> None:
    run = crawled(crawling, site, shop([Item("A", "Lamp", "£1"), Item("A", "Mug", "£1")]))
    answer = explained(crawling.store, run)
    observed = answer["reconciliation"]["observations"]
    assert observed["rejected"] == {"key_conflict": 1}
    assert observed["duplicates"] == [
        {
            "name": "A",
            "url": site.at("/page/1.html"),
            "winnerUrl": site.at("/page/1.html"),
            "offered": ["name"],
            "merged": [],
        }
    ]
    assert (
        "'A' stands for two records that differ in name" in messages(answer, "identity_failed")[0]
    )


def test_a_repeated_record_is_told_and_taken_once(table: Table) -> None:
    answer = explained(table.store, table.take_pages([A, B], [B, C]))
    (message,) = messages(answer, "duplicate_records")
    assert "'B2' on page 1 and page 2" in message
    assert answer["reconciliation"]["observations"]["rejected"] == {}
    assert answer["cells"]["observations"]["rowsFromRun"] == 3


def test_a_mass_loss_is_told_with_its_inputs_and_still_holds_once(table: Table) -> None:
    table.take(*MANY)
    answer = explained(table.store, table.take(*MANY[:3]))
    assert codes(answer)[-1] == "mass_loss"
    stop = answer["completion"]["observations"]["stop"]
    assert stop == {"rule": "mass_loss", "inputs": {"present": 30, "gone": 27, "share": 0.5}}
    assert answer["cells"]["observations"]["rowsInTable"] == 30
    assert table.take(*MANY[:3])["status"] == "succeeded"


def test_missing_credits_are_told_with_their_inputs(store: Store) -> None:
    dataset = made.make_dataset(store, owner="bob", balance=1)
    run, _ = runs.enqueue(store, "bob", dataset)
    attempt = attempts.begin(store, ids.RunId(ids.raw_id(run)))
    assert attempt is not None
    attempts.finish(store, attempt, pages_of(attempt.recipe, [A], [B]), AcceptancePolicy())
    answer = diagnostics.diagnostics(store, "bob", ids.RunId(ids.raw_id(run)))
    stop = answer["completion"]["observations"]["stop"]
    assert stop == {"rule": "credits", "inputs": {"pages": 2, "balance": 1}}
    assert codes(answer)[-1] == "credits_missing"


def test_an_output_that_was_accepted_by_hand_is_explained_as_it_then_is(table: Table) -> None:
    table.take(*MANY)
    run = table.take(*MANY[:3])
    runs.accept(table.store, "local", ids.RunId(ids.raw_id(run["id"])))
    answer = explained(table.store, run, summary=True)
    assert codes(answer)[-1] == "accepted_by_hand"
    assert answer["cells"]["observations"]["rowsInTable"] == 3
    totals = answer["summary"]["totals"]
    assert (totals["present"], totals["absent"]) == (3, 27)


def test_a_cancelled_page_is_neither_read_nor_unreadable(table: Table) -> None:
    failure = replace(failed_page(2), reason="cancelled", status=None)
    answer = explained(table.store, ended(table, [A], rule="cancelled", failure=failure))
    counts = answer["sources"]["observations"]["counts"]
    assert (counts["checked"], counts["unreadable"], counts["unknown"]) == (1, 0, 1)
    assert codes(answer)[-1] == "cancelled"


# What is not recorded.


@pytest.mark.parametrize("started", [False, True])
def test_an_open_run_leaves_everything_but_its_request_unknown(
    table: Table, *, started: bool
) -> None:
    run, _ = runs.enqueue(table.store, "local", table.id)
    if started:
        attempts.begin(table.store, ids.RunId(ids.raw_id(run)))
    asked: Any = {"id": run}
    answer = explained(table.store, asked, summary=True)
    assert answer["status"] == ("running" if started else "queued")
    assert (answer["attemptId"] is not None) == started
    assert answer["request"]["observations"]["sourceUrl"] == made.URL
    for name in ("sources", "cells", "reconciliation"):
        area = answer[name]
        assert (area["observations"], area["findings"]) == ({}, [])
        assert len(area["unknowns"]) == 1
    assert set(answer["completion"]["observations"]) == {"status"}
    assert answer["summary"]["totals"]["entities"] == 0
    assert explained(table.store, asked, entity="A1")["entity"]["outcome"] == "unknown"


def test_a_run_of_an_older_version_leaves_what_it_did_not_record_unknown(table: Table) -> None:
    run = table.take(A)
    with table.store.writing() as writer:
        old = '{"head":1,"pages":[],"fields":[],"offending":[]}'
        stop = '{"rule":"natural_end"}'
        stored_runs.change(writer, ids.RunId(ids.raw_id(run["id"])), facts=old, stop=stop)
    answer = explained(table.store, run, summary=True)
    assert len(answer["reconciliation"]["unknowns"]) == 1
    assert "rowsInTable" not in answer["cells"]["observations"]
    assert answer["summary"]["totals"]["present"] == 1
    diagnosis = entity(table.store, run, "A1")
    assert (diagnosis["outcome"], diagnosis["paths"]) == ("present", [])
    assert "On which page the item was read was not recorded." in diagnosis["unknowns"]


# One entity.


def test_an_item_of_an_accepted_run_is_present_with_its_way(table: Table) -> None:
    run = table.take_pages([A, B], [C])
    diagnosis = entity(table.store, run, "C3")
    assert (diagnosis["outcome"], diagnosis["matchedNames"], diagnosis["basis"]) == (
        "present",
        ["C3"],
        "recorded",
    )
    (path,) = diagnosis["paths"]
    assert path["url"] == f"{made.URL}?page=2"
    assert (path["unknownStages"], path["firstFailure"]) == ([], None)
    assert [fact["code"] for fact in path["facts"]] == [
        "declared_source",
        "page_selected",
        "page_read",
        "row_offered",
        "row_supported",
        "row_kept",
        "row_written",
    ]
    cells = {cell["fieldId"]: cell for cell in diagnosis["cells"]}
    title, price = cells[table.fields["title"]], cells[table.fields["price"]]
    assert (title["value"], title["missingReason"]) == ("Mug", None)
    assert title["evidenceIds"][0].endswith("/1/title")
    assert (price["value"], price["missingReason"], price["evidenceIds"]) == (None, "not_found", [])
    assert diagnosis["unknowns"] == []


def test_the_answer_stays_whatever_becomes_of_the_rows(table: Table) -> None:
    run = table.take(A, B, C)
    asked: list[dict[str, Any]] = [{"entity": "A1"}, {"entity": "B2"}, {"summary": True}]
    before = [explained(table.store, run, **query) for query in asked]
    table.edit("A1", {"title": "Mine"})
    table.take({**A, "price": 99})
    table.take(A, {"sku": "D4"})
    assert [explained(table.store, run, **query) for query in asked] == before


def test_an_unchanged_row_is_present_with_the_page_of_this_run(table: Table) -> None:
    table.take_pages([A, B], [C])
    run = table.take_pages([B], [C, A])
    diagnosis = entity(table.store, run, "A1")
    assert diagnosis["paths"][0]["url"] == f"{made.URL}?page=2"
    assert diagnosis["entityFacts"][-1]["code"] == "row_unchanged"


def test_a_hand_edit_before_the_run_does_not_hide_what_the_source_said(table: Table) -> None:
    table.take(A)
    table.edit("A1", {"title": "Mine"})
    diagnosis = entity(table.store, table.take(A), "A1", "title")
    assert [cell["value"] for cell in diagnosis["cells"]] == ["Lamp"]


def test_a_row_that_the_run_marked_gone_is_absent(table: Table) -> None:
    table.take(A, B)
    run = table.take(A)
    diagnosis = entity(table.store, run, "B2")
    assert (diagnosis["outcome"], diagnosis["cells"], diagnosis["paths"]) == ("absent", [], [])
    assert diagnosis["firstFailures"] == [{"code": "row_missing", "urls": []}]
    assert entity(table.store, table.take(A), "B2")["outcome"] == "absent"


def test_an_item_of_an_output_that_was_not_taken_is_absent(crawling: Crawling, site: Site) -> None:
    fields = shop_source("")["source"]["fields"]
    needed = [{**field, "required": field["name"] == "price"} for field in fields]
    pages = shop([Item("A", "Lamp", ""), Item("B", "Mug", "£2")])
    run = crawled(crawling, site, pages, fields=needed)
    diagnosis = entity(crawling.store, run, "A", "price")
    assert diagnosis["outcome"] == "absent"
    first = diagnosis["paths"][0]["firstFailure"]
    assert first is not None
    assert (first["stage"], first["code"]) == ("validation", "required_cell_empty")
    assert diagnosis["firstFailures"][0]["urls"] == [site.at("/page/1.html")]
    assert [peer["entity"] for peer in diagnosis["peers"]] == ["B"]
    assert entity(crawling.store, run, "B")["firstFailures"][0]["code"] == "output_withheld"


def test_an_item_beyond_a_page_that_failed_is_unknown(table: Table) -> None:
    table.take(A, B)
    run = ended(table, [A], rule="page_failed", failure=failed_page(2))
    diagnosis = entity(table.store, run, "B2")
    assert (diagnosis["outcome"], diagnosis["entityFacts"]) == ("unknown", [])
    assert any("page 2" in text for text in diagnosis["unknowns"])
    assert entity(table.store, run, "A1")["outcome"] == "absent"


def test_an_item_that_a_whole_list_did_not_have_is_absent(table: Table) -> None:
    table.take(*MANY)
    diagnosis = entity(table.store, table.take(*MANY[:3]), "S29")
    assert (diagnosis["outcome"], diagnosis["firstFailures"][0]["code"]) == (
        "absent",
        "not_offered",
    )


def test_a_name_that_was_never_recorded_is_unknown(table: Table) -> None:
    diagnosis = entity(table.store, table.take(A), "Zed")
    assert (diagnosis["entity"], diagnosis["outcome"], diagnosis["matchedNames"]) == (
        "Zed",
        "unknown",
        [],
    )
    assert "No item of that name was recorded." in diagnosis["unknowns"]


def composite(store: Store) -> Table:
    """A dataset whose key is a shop and a number."""
    columns = [
        {"name": "shop", "type": "string", "key": True},
        {"name": "number", "type": "number", "key": True},
    ]
    declared: Any = made.declared("places", columns)
    declared["source"]["identity"] = {"kind": "composite", "fields": ["shop", "number"]}
    return Table(store, declared)


@pytest.mark.parametrize(
    ("name", "outcome", "matched"),
    [
        ('["Rome","7"]', "present", ['["Rome","7"]']),
        ("Rome", "present", ['["Rome","7"]']),
        ("7", "ambiguous", ['["Oslo","7"]', '["Rome","7"]']),
        ("Oslo,7", "unknown", []),
    ],
)
def test_a_part_of_a_composite_key_names_an_item(
    store: Store, name: str, outcome: str, matched: list[str]
) -> None:
    table = composite(store)
    run = table.take({"shop": "Oslo", "number": 7}, {"shop": "Rome", "number": 7})
    diagnosis = entity(store, run, name)
    assert (diagnosis["outcome"], diagnosis["matchedNames"]) == (outcome, matched)


def test_a_field_narrows_the_cells_by_id_or_label(table: Table) -> None:
    run = table.take(A)
    field = table.fields["price"]
    for given in ("price", field, field.upper()):
        diagnosis = entity(table.store, run, "A1", given)
        assert diagnosis["field"] == field
        assert [cell["fieldId"] for cell in diagnosis["cells"]] == [field]


def relabel(table: Table, **labels: str) -> None:
    """Change how people see columns."""
    columns = [
        {"id": table.fields[name], "name": name, "type": kind, "label": labels.get(name, name)}
        for name, kind in ((column["name"], column["type"]) for column in table.dataset["columns"])
    ]
    body = read(UpdateDataset, {"expectedSchemaVersion": 1, "columns": columns})
    datasets.update(table.store, "local", table.id, body)


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"summary": True, "entity": "A1"}, "summary cannot be combined"),
        ({"summary": True, "field": "price"}, "summary cannot be combined"),
        ({"field": "price"}, "field requires entity"),
        ({"entity": ""}, "entity must have 1 to 200"),
        ({"entity": "x" * 201}, "entity must have 1 to 200"),
        ({"entity": "A1", "field": "x" * 201}, "field must have 1 to 200"),
        ({"entity": "A1", "field": "weight"}, "'weight' is neither the id nor the label"),
        ({"entity": "A1", "field": "Same"}, "label of 2 fields"),
    ],
)
def test_questions_that_make_no_sense_are_refused(
    table: Table, asked: dict[str, Any], problem: str
) -> None:
    run = table.take(A)
    relabel(table, title="Same", stock="Same")
    with pytest.raises(BadRequest, match=problem):
        explained(table.store, run, **asked)


# All entities.


def test_the_summary_of_an_accepted_run_counts_what_is_there_and_gone(table: Table) -> None:
    table.take(A, B)
    answer = summary(table.store, table.take(A, C))
    assert answer["outputComplete"]
    totals = answer["totals"]
    assert (totals["present"], totals["absent"], totals["entities"]) == (2, 1, 3)
    (group,) = answer["failureGroups"]
    assert (group["stage"], group["code"], group["counts"]["absent"]) == (
        "output",
        "row_missing",
        1,
    )
    assert group["examples"][0]["entity"] == "B2"
    (missing,) = answer["missingCells"]
    assert (missing["label"], missing["observedRows"], missing["missing"]) == ("price", 2, 1)
    assert missing["reasons"] == {"not_found": 1}
    assert missing["examples"] == [
        {"entity": "C3", "rowId": table.rows()["C3"]["id"], "reason": "not_found"}
    ]


def test_the_summary_of_an_unaccepted_run_tells_what_was_withheld_and_what_is_unknown(
    table: Table,
) -> None:
    table.take(A, B)
    run = ended(table, [A, C, C], rule="page_failed", failure=failed_page(2))
    answer = summary(table.store, run)
    assert not answer["outputComplete"]
    outcomes = {entity["entity"]: entity["outcome"] for entity in answer["entities"]}
    assert outcomes == {"A1": "absent", "B2": "unknown", "C3": "absent"}
    assert answer["duplicates"]["entities"] == 1
    assert answer["duplicates"]["examples"][0]["code"] == "row_merged"
    (group,) = answer["failureGroups"]
    assert (group["code"], group["counts"]["absent"]) == ("output_withheld", 2)
    assert any("page 2" in text for text in answer["unknowns"])


def test_records_without_a_key_are_unknowns_of_the_summary(table: Table) -> None:
    run = table.take(A, {"title": "Nameless"})
    assert summary(table.store, run)["unknowns"] == ["No name is known for 1 record without a key."]
    answer = explained(table.store, run)
    assert answer["reconciliation"]["observations"]["rejected"] == {"no_key": 1}


# What it costs to keep.


def size(store: Store) -> int:
    with store.reading() as reader:
        return sum(
            int(reader.value(f"SELECT coalesce(sum(length({column})), 0) FROM {name}"))
            for name, column in (("runs", "facts"), ("runs", "stop"), ("attempts", "steps"))
        )


def items(count: int) -> Iterable[Mapping[str, Scalar]]:
    return (
        {"sku": f"key-{number * 7919:08x}", "title": f"Thing {number}"} for number in range(count)
    )


def with_steps(harvest: Harvest) -> Harvest:
    """The same with the steps that a crawl of its pages makes."""
    steps: list[Step] = []
    for page in harvest.pages:
        end = page.at + 1234 * page.number
        steps.append(Step("read", page.at, end, "succeeded", page.url))
        steps.append(Step("extract", end, end + 999, "succeeded", page.url))
    return replace(harvest, steps=steps)


def test_an_unchanged_run_of_1000_rows_and_50_pages_stays_below_8_kib(table: Table) -> None:
    rows = list(items(1000))
    for _ in range(2):
        before = size(table.store)
        attempt = table.begin()
        harvest = pages_of(
            attempt.recipe, *(rows[number : number + 20] for number in range(0, 1000, 20))
        )
        table.finish(attempt, with_steps(harvest))
    assert size(table.store) - before < 8192
