"""POST /v1/research/datasets: a prompt or a plan becomes a draft, and no model is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from livedata.api import close_app, create_app
from livedata.model.research.settings import ResearchSettings
from livedata.store.database.store import Store
from tests.api.person import JudgingClient, Person, body_of

PATH = "/research/datasets"
PLAN: dict[str, Any] = {
    "title": "Lamp makers",
    "rowMeaning": "A company that makes lamps",
    "nameLabel": "Company",
    "query": "companies that make lamps",
    "rowIdentity": {"description": "A company", "kind": "company"},
    "attributes": [{"label": "Founded", "description": "The year"}],
}


def test_a_prompt_becomes_a_draft_with_three_columns(alice: Person) -> None:
    body = {"name": "lamps", "prompt": "Who makes lamps?", "urls": ["https://a.example/"]}
    dataset = alice.post(PATH, body)["dataset"]
    assert (dataset["status"], dataset["question"]) == ("draft", "Who makes lamps?")
    named = [(column["name"], column["type"], column["key"]) for column in dataset["columns"]]
    assert named == [
        ("name", "string", True),
        ("evidence", "string", False),
        ("source", "url", False),
    ]
    assert alice.get(f"/datasets/{dataset['id']}") == {"dataset": dataset}


def test_a_plan_becomes_a_draft_with_all_columns(alice: Person, bob: Person) -> None:
    dataset = alice.post(PATH, {"name": "lamps", "plan": PLAN, "maxPages": 3})["dataset"]
    assert [column["label"] for column in dataset["columns"]] == [
        *("Company", "Evidence", "Source", "Founded")
    ]
    bob.get(f"/datasets/{dataset['id']}", 404)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "neither": ({}, ""),
    "both": ({"prompt": "Who?", "plan": PLAN}, ""),
    "an empty prompt": ({"prompt": ""}, "prompt"),
    "null": ({"prompt": None}, "prompt"),
    "a private address": ({"prompt": "Who?", "urls": ["http://127.0.0.1/"]}, "urls[0]"),
    "a plan without a label": (
        {"plan": {**PLAN, "attributes": [{"description": "x"}]}},
        "plan.attributes[0].label",
    ),
    "a label twice": (
        {"plan": {**PLAN, "attributes": [*PLAN["attributes"], *PLAN["attributes"]]}},
        "plan.attributes[1].label",
    ),
    "money without a price": ({"prompt": "Who?", "maxUsd": 1.5}, "maxUsd"),
}


@pytest.mark.one_database
@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_its_place_and_makes_nothing(alice: Person, name: str) -> None:
    body, path = WRONG[name]
    error = alice.post(PATH, {"name": "lamps", **body}, 422)["error"]
    assert [detail["path"] for detail in error["details"]] == [path]
    assert alice.get("/datasets")["data"] == []


FOUNDED: dict[str, Any] = PLAN["attributes"][0]


def _planned(**changes: Any) -> dict[str, Any]:
    return {"plan": {**PLAN, **changes}}


def _deep(depth: int) -> object:
    return {"label": _deep(depth - 1)} if depth else "Founded"


# What is sent, and the places that are told; no place if it cannot be read at all.
ATTACKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "a prototype": (_planned(__proto__={"kind": "other"}), ["plan.__proto__"]),
    "a prototype of all": ({"prompt": "Who?", "__proto__": {}}, ["__proto__"]),
    "no attribute": (_planned(attributes=[]), ["plan.attributes"]),
    "13 attributes": (
        _planned(attributes=[{**FOUNDED, "label": f"L{number}"} for number in range(13)]),
        ["plan.attributes"],
    ),
    "NUL in a prompt": ({"prompt": "Who\0?"}, ["prompt"]),
    "NUL in a label": (
        _planned(attributes=[{**FOUNDED, "label": "a\0b"}]),
        ["plan.attributes[0].label"],
    ),
    "labels alike": (
        _planned(attributes=[FOUNDED, {**FOUNDED, "label": "\uff26OUNDED "}]),
        ["plan.attributes[1].label"],
    ),
    "a label like the name's": (
        _planned(attributes=[{**FOUNDED, "label": "company"}]),
        ["plan.attributes[0].label"],
    ),
    "a label of ours": (
        _planned(attributes=[{**FOUNDED, "label": "Evidence"}]),
        ["plan.attributes[0].label"],
    ),
    "a scope field that is none": (
        _planned(rowIdentity={**PLAN["rowIdentity"], "scopeFields": ["Town"]}),
        ["plan.rowIdentity.scopeFields[0]"],
    ),
    "a kind that is none": (
        _planned(rowIdentity={"description": "A firm", "kind": "firm"}),
        ["plan.rowIdentity.kind"],
    ),
    "a long prompt": ({"prompt": "x" * 10_000}, ["prompt"]),
    "an unknown key": (_planned(columns=[]), ["plan.columns"]),
    "an unknown key of an attribute": (
        _planned(attributes=[{**FOUNDED, "type": "url"}]),
        ["plan.attributes[0].type"],
    ),
    "an unknown key of the identity": (
        _planned(rowIdentity={**PLAN["rowIdentity"], "keys": ["x"]}),
        ["plan.rowIdentity.keys"],
    ),
    "a deep plan": ({"plan": _deep(200)}, []),
    "a deep label": (_planned(attributes=[_deep(200)]), []),
    "half of a surrogate": (_planned(title="\ud800"), []),
    "a plan that is a list": ({"plan": [PLAN]}, ["plan"]),
    "wrong types": (
        _planned(title=1, attributes="x", rowIdentity=None),
        ["plan.title", "plan.rowIdentity", "plan.attributes"],
    ),
    "a prompt that is a list": ({"prompt": ["Who?"]}, ["prompt"]),
    "an address for a list": ({"prompt": "Who?", "urls": "https://a.example/"}, ["urls"]),
    "an address twice": (
        {"prompt": "Who?", "urls": ["https://a.example/", "https://a.example/#top"]},
        ["urls[1]"],
    ),
    "true for a number": ({"prompt": "Who?", "maxPages": True}, ["maxPages"]),
    "half a page": ({"prompt": "Who?", "maxPages": 1.5}, ["maxPages"]),
}


@pytest.mark.one_database
def test_no_hostile_plan_makes_anything(alice: Person) -> None:
    told = {}
    for name, (body, _) in ATTACKS.items():
        sent = json.dumps({"name": "lamps", **body})
        answer = alice.ask("POST", PATH, data=sent, content_type="application/json")
        error = body_of(answer, 422)["error"]
        told[name] = [detail["path"] for detail in error.get("details", [])]
    assert told == {name: paths for name, (_, paths) in ATTACKS.items()}
    assert alice.get("/datasets")["data"] == []


@pytest.mark.one_database
def test_a_label_that_names_a_prototype_is_a_column_like_others(alice: Person) -> None:
    body = {"name": "lamps", **_planned(attributes=[{**FOUNDED, "label": "__proto__"}])}
    column = alice.post(PATH, body)["dataset"]["columns"][-1]
    assert (column["name"], column["label"]) == ("proto", "__proto__")


def test_a_service_without_model_or_search_says_so(store: Store) -> None:
    for settings, words in (
        (ResearchSettings(search="tavily"), "needs a model"),
        (ResearchSettings(model="scripted"), "needs pages"),
    ):
        app = create_app(store, research=settings)
        app.test_client_class = JudgingClient
        person = Person.meet(app.test_client(), store, "carol")
        error = person.post(PATH, {"name": "lamps", "prompt": "Who?"}, 503)["error"]
        assert error["code"] == "research_unavailable"
        assert words in error["message"]
        close_app(app)
