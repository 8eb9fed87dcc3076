from __future__ import annotations

import pytest

from livedata.model import ids
from livedata.model.diagnosis.diagnostics import RunDiagnostics
from livedata.model.ids import RunId
from livedata.model.run import Run
from livedata.services import diagnostics, explanation, queries
from livedata.services.kinds.research_diagnostics import tell
from livedata.services.run_view import viewing
from livedata.store.database.store import Store
from tests.api.contract import wrong
from tests.api.kinds import a
from tests.services.research_table import PAGE, ResearchTable
from tests.services.researched import BLOCKED, make_run

pytestmark = pytest.mark.one_database


@pytest.fixture
def table(store: Store) -> ResearchTable:
    return ResearchTable(store)


@pytest.fixture
def run(table: ResearchTable) -> Run:
    return make_run(table)


def explained(store: Store, run: Run, **asked: object) -> RunDiagnostics:
    """The diagnostics of a Run, held against the interface on the way."""
    run_id = RunId(ids.raw_id(run["id"]))
    answer = diagnostics.diagnostics(store, "local", run_id, **asked)  # type: ignore[arg-type]  # a test's own
    assert list(wrong(answer, a("RunDiagnostics"), "diagnostics")) == []
    return answer


def test_a_research_run_is_explained_from_the_facts_of_its_attempt(store: Store, run: Run) -> None:
    answer = explained(store, run, summary=True)
    assert answer["request"]["observations"]["plan"]["title"] == "Makers"
    assert answer["sources"]["observations"]["counts"]["unreadable"] == 1
    assert answer["sources"]["observations"]["discovery"]["credits"] == 1.0
    assert answer["cells"]["observations"]["rowsFromRun"] == 2
    assert answer["reconciliation"]["observations"]["rejected"] == {"name_quote_not_on_page": 1}
    assert answer["cost"]["observations"]["usage"] == {
        "searchCredits": 1.0,
        "inputTokens": 100,
        "outputTokens": 20,
        "modelUsd": 0.25,
    }
    assert answer["harnessVersion"] == "research-1/p:00000000"
    totals = answer["summary"]["totals"]
    assert (totals["present"], totals["absent"], totals["entities"]) == (2, 1, 3)


def test_an_entity_is_followed_to_its_row_and_its_cells_to_their_evidence(
    store: Store, table: ResearchTable, run: Run
) -> None:
    told = explained(store, run, entity="Acme", field="City")["entity"]
    assert (told["outcome"], told["field"]) == ("present", table.fields["City"])
    assert [path["url"] for path in told["paths"]] == [PAGE]
    assert [fact["code"] for fact in told["paths"][0]["facts"]][-1] == "row_written"
    (cell,) = told["cells"]
    assert cell["value"] == "Bern"
    observation, _, entry = cell["evidenceIds"][0].partition("/")
    evidence = table.row("Acme")["evidence"][cell["fieldId"]]
    assert evidence == [{"observationId": observation, "entryId": entry}]


def test_a_name_that_was_never_offered_is_looked_for_on_the_pages(store: Store, run: Run) -> None:
    told = explained(store, run, entity="zed lamps")["entity"]
    assert (told["outcome"], told["matchedNames"]) == ("unknown", [])
    assert f"The name stands on {PAGE}, and no row was offered for it there." in told["unknowns"]
    nowhere = explained(store, run, entity="Nobody")["entity"]
    assert not any(PAGE in unknown for unknown in nowhere["unknowns"])


def test_a_run_that_has_not_begun_says_so(store: Store, table: ResearchTable) -> None:
    answer = explained(store, queries.run(store, "local", table.begin().run), summary=True)
    assert answer["summary"]["totals"]["entities"] == 0
    assert answer["sources"]["unknowns"] == [
        "It is not over yet; this is what it has recorded so far."
    ]


def test_the_story_of_a_run_has_its_pages_and_what_was_dropped(store: Store, run: Run) -> None:
    with viewing(store, "local", RunId(ids.raw_id(run["id"]))) as view:
        told = tell(view)
    assert [(page.outcome, page.fault) for page in told.pages] == [
        ("checked", None),
        ("unreadable", "read_forbidden"),
    ]
    assert (told.offered, dict(told.rejected)) == (3, {"name_quote_not_on_page": 1})
    explained_run = explanation.explanation(store, "local", RunId(ids.raw_id(run["id"])))
    assert explained_run.causes == []


def test_the_trace_has_the_results_of_the_search(store: Store, run: Run) -> None:
    discovery = diagnostics.trace(store, "local", RunId(ids.raw_id(run["id"])))["discovery"]
    assert discovery is not None
    assert [(each["url"], each["outcome"]) for each in discovery["candidates"]] == [
        (PAGE, "checked"),
        (BLOCKED, "unreadable"),
    ]
