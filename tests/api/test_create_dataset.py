from __future__ import annotations

from typing import Any

import pytest

from tests.api.person import Person
from tests.made import declared


def test_a_created_dataset_is_a_draft_with_its_columns(alice: Person) -> None:
    dataset = alice.post("/datasets", declared())["dataset"]
    assert dataset["status"] == "draft"
    assert dataset["schemaVersion"] == 1
    assert dataset["rowCount"] == 0
    assert dataset["lastRun"] is dataset["question"] is dataset["schedule"] is None
    assert [column["name"] for column in dataset["columns"]] == [
        *("sku", "title", "price", "stock", "note")
    ]
    assert alice.get(f"/datasets/{dataset['id']}") == {"dataset": dataset}


def test_a_column_has_its_defaults_and_a_description_only_where_one_was_given(
    alice: Person,
) -> None:
    body = declared(columns=[{"name": "sku", "type": "string", "key": True, "description": "it"}])
    (column,) = alice.post("/datasets", body)["dataset"]["columns"]
    assert column.pop("id")
    assert column == {
        "name": "sku",
        "label": "sku",
        "type": "string",
        "ownership": "collected",
        "key": True,
        "description": "it",
    }


def test_a_name_is_taken_once_per_owner(alice: Person, bob: Person) -> None:
    alice.dataset("shop")
    error = alice.post("/datasets", declared("shop"), 409)["error"]
    assert error["code"] == "name_taken"
    bob.dataset("shop")


def test_every_wrong_place_has_a_detail(alice: Person) -> None:
    body: dict[str, Any] = declared()
    body["name"] = ""
    body["source"]["maxPages"] = 99
    body["source"]["fields"][0]["red"] = {}
    error = alice.post("/datasets", body, 422)["error"]
    assert error["code"] == "validation_failed"
    assert [detail["path"] for detail in error["details"]] == [
        "name",
        "source.fields[0].red",
        "source.maxPages",
    ]
    assert alice.get("/datasets")["data"] == []


@pytest.mark.parametrize("name", ["question", "source", "columns"])
def test_null_is_no_way_to_leave_something_out(alice: Person, name: str) -> None:
    alice.post("/datasets", declared() | {name: None}, 422)


@pytest.mark.one_database
@pytest.mark.parametrize("body", [b"[]", b'"text"', b"1", b"null", b"{}", b""])
def test_a_body_that_is_no_dataset_is_refused(alice: Person, body: bytes) -> None:
    answer = alice.ask("POST", "/datasets", data=body, content_type="application/json")
    assert answer.status_code == 422


def test_a_query_is_ignored_since_the_endpoint_declares_no_400(alice: Person) -> None:
    alice.post("/datasets?limit=x&unknown", declared(), 201)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_declared_as_json_is_415(alice: Person, kind: str) -> None:
    answer = alice.ask("POST", "/datasets", data=b"{}", content_type=kind)
    assert answer.status_code == 415


def test_the_charset_of_json_may_be_named(alice: Person) -> None:
    answer = alice.ask(
        "POST", "/datasets", data=b"{}", content_type="application/json; charset=utf-8"
    )
    assert answer.status_code == 422
