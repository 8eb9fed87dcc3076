"""POST /v1/research/datasets: a prompt or a plan becomes a draft, and no model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from livedata.api import close_app, create_app
from livedata.model.research.settings import ResearchSettings
from livedata.store.database.store import Store
from tests.api.person import JudgingClient, Person

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


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_has_its_place_and_makes_nothing(alice: Person, name: str) -> None:
    body, path = WRONG[name]
    error = alice.post(PATH, {"name": "lamps", **body}, 422)["error"]
    assert [detail["path"] for detail in error["details"]] == [path]
    assert alice.get("/datasets")["data"] == []


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
