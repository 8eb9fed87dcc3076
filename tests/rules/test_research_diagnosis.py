from __future__ import annotations

import random
from typing import get_args

import pytest
from msgspec.structs import replace

from livedata.model.diagnosis.entities import Outcome
from livedata.model.diagnosis.recorded_research import RecordedResearch
from livedata.model.research.record import Memory, ResearchFact
from livedata.rules.diagnosis.research import areas, entities
from livedata.rules.diagnosis.research.pages import count_pages, list_pages
from livedata.rules.diagnosis.research.traces import trace_entities
from tests.rules.research import (
    CITY,
    COGWHEEL,
    FOUNDED,
    LIST,
    TOP,
    World,
    fact,
    failure,
    known_row,
    recorded,
    row,
    run,
    worked_example,
)

EXAMPLE = worked_example()
SUMMARY = entities.summarize(EXAMPLE)


def test_the_entities_of_the_example_are_told_by_what_became_of_them() -> None:
    assert SUMMARY["totals"] == {
        "present": 3,
        "absent": 1,
        "unknown": 0,
        "ambiguous": 1,
        "recovered": 1,
        "entities": 5,
    }
    assert {
        (entity["entity"], *entity["aliases"], entity["outcome"], *entity["failureCodes"])
        for entity in SUMMARY["entities"]
    } == {
        ("Acme Ltd", "ACME", "present"),
        ("Bolt", "present", "name_quote_not_on_page"),
        ("Cogwheel", "absent", "mentioned_not_offered", "read_forbidden"),
        ("Mercury", "ambiguous", "identity_ambiguous"),
        ("Dyn", "present"),
    }
    assert [entity["entity"] for entity in SUMMARY["entities"] if entity["recovered"]] == ["Bolt"]
    assert not SUMMARY["outputComplete"]


def test_the_failures_of_the_example_are_grouped_in_the_order_of_the_stages() -> None:
    assert [
        (group["stage"], group["code"], {kind: n for kind, n in group["counts"].items() if n})
        for group in SUMMARY["failureGroups"]
    ] == [
        ("retrieval", "read_forbidden", {"absent": 1}),
        ("extraction", "mentioned_not_offered", {"absent": 1}),
        ("validation", "name_quote_not_on_page", {"present": 1, "recovered": 1}),
        ("reconciliation", "identity_ambiguous", {"ambiguous": 1}),
    ]
    refused = SUMMARY["failureGroups"][0]
    assert refused["detail"] == "The site refused the page."
    assert refused["examples"] == [
        {"entity": "Cogwheel", "evidenceId": f"at {COGWHEEL}", "url": COGWHEEL}
    ]


def test_the_empty_cells_and_the_duplicates_of_the_example_are_counted() -> None:
    assert [
        (cell["label"], cell["missing"], cell["observedRows"], cell["reasons"])
        for cell in SUMMARY["missingCells"]
    ] == [("City", 1, 3, {"unknown": 1}), ("Founded", 2, 3, {"extraction_failed": 2})]
    assert SUMMARY["duplicates"]["entities"] == 1
    observed = areas.reconciliation(EXAMPLE)["observations"]
    assert observed == {
        "rejected": {"identity_ambiguous": 1, "name_quote_not_on_page": 1},
        "quotesDropped": 2,
        "duplicates": [
            {"name": "ACME", "url": TOP, "winnerUrl": LIST, "offered": ["City"], "merged": []}
        ],
    }


def test_the_pages_of_the_example_add_up() -> None:
    observed = areas.sources(EXAMPLE)["observations"]
    assert observed["counts"] == {
        "discovered": 4,
        "checked": 2,
        "unreadable": 1,
        "unknown": 0,
        "unattempted": 1,
    }
    assert [page["outcome"] for page in observed["candidates"]] == [
        *("checked", "unreadable", "checked", "unattempted")
    ]
    assert SUMMARY["unknowns"] == [
        "1 page could not be read; which entities are there was not recorded.",
        "1 candidate page left unread; which entities are there was not recorded.",
    ]


def test_an_entity_that_is_absent_is_followed_over_each_of_its_pages() -> None:
    answer = entities.diagnose(EXAMPLE, "Cogwheel", None)
    assert answer["outcome"] == "absent"
    assert [
        (path["url"], path["firstFailure"] and path["firstFailure"]["code"], path["unknownStages"])
        for path in answer["paths"]
    ] == [(COGWHEEL, "read_forbidden", []), (TOP, "mentioned_not_offered", [])]
    assert answer["firstFailures"] == [
        {"code": "read_forbidden", "urls": [COGWHEEL]},
        {"code": "mentioned_not_offered", "urls": [TOP]},
    ]
    assert {(peer["entity"], peer["outcome"]) for peer in answer["peers"]} == {
        *(("Acme Ltd", "present"), ("Bolt", "present"), ("Dyn", "present")),
        ("Mercury", "ambiguous"),
    }


@pytest.mark.parametrize("name", ["ACME", "acme  LTD", "k-acme"])
def test_an_entity_answers_to_its_names_and_its_key(name: str) -> None:
    answer = entities.diagnose(EXAMPLE, name, None)
    assert (answer["entity"], answer["matchedNames"]) == (name, ["Acme Ltd", "ACME"])
    assert answer["outcome"] == "present"
    assert [path["url"] for path in answer["paths"]] == [LIST, TOP]
    assert len(answer["cells"]) == 5


def test_a_field_adds_its_own_facts_and_leaves_its_own_cell() -> None:
    answer = entities.diagnose(EXAMPLE, "Dyn", FOUNDED.id)
    assert "digits_not_in_quote" in [each["code"] for each in answer["entityFacts"]]
    assert [cell["missingReason"] for cell in answer["cells"]] == ["extraction_failed"]
    city = entities.diagnose(EXAMPLE, "Dyn", CITY.id)
    assert "digits_not_in_quote" not in [each["code"] for each in city["entityFacts"]]


def test_a_name_that_was_never_recorded_is_unknown_and_said_so() -> None:
    answer = entities.diagnose(EXAMPLE, "Zed", None)
    assert (answer["outcome"], answer["matchedNames"]) == ("unknown", [])
    assert answer["unknowns"][0] == "No entity of that name was recorded."


def test_two_entities_of_one_name_on_one_page_are_told_apart_by_their_offers() -> None:
    offers = [("c1", "k1"), ("c2", "k2")]
    facts = [
        *(fact("extraction", "row_offered", LIST, "PyCon", candidate=c) for c, _ in offers),
        *(
            fact("reconciliation", "row_kept", LIST, "PyCon", candidate=c, key=key)
            for c, key in offers
        ),
    ]
    cells = [("PyCon", None), ("PyCon", None), (LIST, None), ("Bonn", None), ("x", None)]
    both = recorded(facts, rows={key: row(key, cells) for _, key in offers})
    assert [entity["outcome"] for entity in entities.summarize(both)["entities"]] == [
        *("present", "present")
    ]
    answer = entities.diagnose(both, "PyCon", None)
    assert (answer["outcome"], answer["matchedNames"]) == ("ambiguous", ["k1", "k2"])
    assert entities.diagnose(both, "k2", None)["outcome"] == "present"


KNOWN = Memory(rows=[known_row("k", "Acme", LIST)])
PAGE = [fact("discovery", "known_source", LIST), fact("selection", "page_selected", LIST)]
READ = [*PAGE, fact("retrieval", "page_read", LIST)]


@pytest.mark.parametrize(
    ("facts", "left", "outcome", "code"),
    [
        (PAGE, "stands", "unknown", None),
        ([*PAGE, failure("retrieval", "read_timeout", LIST)], "stands", "absent", "read_timeout"),
        (
            [*READ, failure("extraction", "model_refused", LIST)],
            *("stands", "absent", "model_refused"),
        ),
        # A part with too many rows loses the rest of its rows only.
        ([*READ, failure("extraction", "row_cap_reached", LIST)], "stands", "unknown", None),
        (READ, "stands", "unknown", None),
        (READ, "gone", "absent", "row_missing"),
        ([*PAGE, failure("retrieval", "read_network", LIST)], "gone", "absent", "read_network"),
    ],
)  # fmt: skip
def test_a_row_that_was_not_found_again_is_absent_only_if_something_recorded_says_why(
    facts: list[ResearchFact], left: str, outcome: str, code: str | None
) -> None:
    cells = [("Acme", None), ("Acme", None), (LIST, None), (None, "unknown"), (None, "unknown")]
    stood = row("k", cells, by="earlier")
    after = replace(stood, presence="missing", by=run()["id"]) if left == "gone" else stood
    made = recorded(facts, rows={"k": after}, known=KNOWN)
    answer = entities.diagnose(made, "Acme", None)
    assert answer["outcome"] == outcome
    first = answer["paths"][0]["firstFailure"]
    assert (first and first["code"]) == code


def test_an_output_that_was_not_taken_stands_in_the_way_of_all_that_was_offered() -> None:
    held = replace(EXAMPLE, run=run("held", "Too much would be gone."), rows={})
    totals = entities.summarize(held)["totals"]
    assert (totals["present"], totals["absent"]) == (0, 4)
    answer = entities.diagnose(held, "Bolt", None)
    assert [path["firstFailure"]["code"] for path in answer["paths"] if path["firstFailure"]] == [
        *("name_quote_not_on_page", "output_withheld")
    ]
    assert answer["entityFacts"][-1]["detail"] == (
        "The output of the Run was not accepted. (held: Too much would be gone.)"
    )


def test_an_answer_that_was_cut_off_is_no_loss_if_its_halves_were_asked() -> None:
    cut = failure("extraction", "model_output_cut", LIST)
    lost, halved = [*READ, cut], [*READ, cut, fact("extraction", "window_split", LIST)]
    outcomes = {
        len(facts): entities.diagnose(recorded(facts, known=KNOWN), "Acme", None)["outcome"]
        for facts in (lost, halved)
    }
    assert outcomes == {len(lost): "absent", len(halved): "unknown"}


def test_a_page_counts_as_checked_only_if_that_was_recorded() -> None:
    made = recorded([*READ, fact("extraction", "row_offered", LIST, "Acme", candidate="c")])
    assert [page.outcome for page in list_pages(made)] == ["unknown"]
    made = recorded([*made.facts, fact("extraction", "page_checked", LIST)])
    assert [page.outcome for page in list_pages(made)] == ["checked"]


@pytest.mark.parametrize("seed", range(60))
def test_any_world_is_told_without_a_contradiction(seed: int) -> None:
    world_is_told_consistently(seed)


def world_is_told_consistently(seed: int) -> None:
    """Hold a random Run, whole and cut, against what must be true of any."""
    made = World(seed).recorded()
    summary_adds_up(made)
    written = {fact.key for fact in made.facts if fact.code == "row_kept"}
    present = entities.summarize(made)["totals"]["present"]
    assert present == (len(written) if made.accepted else 0)
    cut = random.Random(seed).randrange(len(made.facts) + 1)  # no secret
    summary_adds_up(replace(made, facts=made.facts[:cut], run=run("running"), stop=None))
    summary_adds_up(replace(made, facts=made.facts[:cut], run=run("failed", "Lost.")))


def summary_adds_up(made: RecordedResearch) -> None:
    """Totals are sums, groups are parts, and each entity is diagnosed as it is summed up."""
    summary = entities.summarize(made)
    totals = summary["totals"]
    outcomes = [entity["outcome"] for entity in summary["entities"]]
    assert [outcomes.count(kind) for kind in get_args(Outcome)] == [
        *(totals["present"], totals["absent"], totals["unknown"], totals["ambiguous"])
    ]
    assert totals["entities"] == len(outcomes)
    assert totals["recovered"] <= totals["present"]
    codes = {code for entity in summary["entities"] for code in entity["failureCodes"]}
    assert {group["code"] for group in summary["failureGroups"]} == codes
    counts = count_pages(list_pages(made))
    assert counts["discovered"] == (
        counts["checked"] + counts["unreadable"] + counts["unknown"] + counts["unattempted"]
    )
    for trace, entity in zip(trace_entities(made), summary["entities"], strict=True):
        for path in trace.paths:
            failing = [fact for fact in path["facts"] if fact["failure"]]
            assert path["firstFailure"] is None or path["firstFailure"] in failing
        if trace.outcome == "absent" and not made.accepted:
            assert all(path["firstFailure"] for path in trace.paths)
        if len(trace.entity.keys) != 1 or trace.outcome == "ambiguous":
            continue
        answer = entities.diagnose(made, trace.entity.keys[0], None)
        assert (answer["outcome"], answer["recovered"]) == (entity["outcome"], entity["recovered"])
        assert sorted(each["code"] for each in answer["firstFailures"]) == entity["failureCodes"]
