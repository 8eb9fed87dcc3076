"""The OpenAPI document, the routes and the interface's tables agree.

What a body or a query may hold, docs/reference says: tests/test_reference.py holds it against the
document, and tests/api/test_schemathesis.py sends all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from livedata.model.account import Limits
from livedata.store.database.store import Store
from tests.api.contract import ADDITIONS, ENDPOINTS, EXTENSIONS
from tests.api.everything import NAMES, ROUTES
from tests.api.kinds import Is
from tests.api.tables import TABLES

pytestmark = pytest.mark.one_database

if TYPE_CHECKING:
    from flask import Flask
    from flask.testing import FlaskClient

Json = Mapping[str, Any]


@pytest.fixture
def document(client: FlaskClient) -> Any:
    return client.get("/v1/openapi.json").json


def operation_of(document: Json, route: tuple[str, str]) -> Json:
    operation: Json = document["paths"][route[1]][route[0].lower()]
    return operation


def test_the_document_is_of_the_api_and_needs_no_key(document: Json) -> None:
    assert document["openapi"].startswith("3.1")
    assert document["info"]["version"] == "1.0.0"
    assert document["security"] == [{"apiKey": []}]
    assert document["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"


def test_it_has_the_sixteen_endpoints_two_extensions_and_no_other(
    document: Json, app: Flask
) -> None:
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }
    # Flask adds HEAD to each GET; the document leaves it out.
    routed = {
        (method, re.sub(r"<(\w+)>", r"{\1}", rule.rule))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD"}
        if rule.rule.startswith("/v1/") and rule.rule not in {"/v1/docs", "/v1/openapi.json"}
    }
    assert described == routed == ENDPOINTS.keys()
    assert len(described - EXTENSIONS) == 16
    marked = {
        (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation.get("x-livedata-extension")
    }
    assert marked == EXTENSIONS


TAGGED = {
    "GET /v1/datasets/{datasetId}",
    "GET /v1/datasets/{datasetId}/rows",
    "GET /v1/datasets/{datasetId}/changes",
    "GET /v1/datasets/{datasetId}/table",
}
"""The endpoints whose answers have an ETag."""


@pytest.mark.parametrize("route", ROUTES, ids=NAMES)
def test_an_endpoint_declares_its_statuses_and_answers(
    document: Json, route: tuple[str, str]
) -> None:
    declared, operation = ENDPOINTS[route], operation_of(document, route)
    ours = ADDITIONS if "requestBody" in operation else {405}
    tagged = " ".join(route) in TAGGED
    statuses = {declared.status, *declared.errors, *ours, *([304] if tagged else [])}
    assert operation["responses"].keys() == {str(status) for status in statuses}
    for status, answer in operation["responses"].items():
        has_tag = tagged and status in ("200", "304")
        names = {"X-Credits-Remaining", "X-Request-Id", *(["ETag"] if has_tag else [])}
        if has_tag and declared.answer == "TableAnswer":
            names |= {"X-Livedata-State", "X-Livedata-Through"}
        assert answer["headers"].keys() == names
        if status == "304":
            assert "content" not in answer
            continue
        schema = answer["content"]["application/json"]["schema"]
        name = declared.answer if status == str(declared.status) else "ErrorAnswer"
        assert schema == {"$ref": f"#/components/schemas/{name}"}


@pytest.mark.parametrize("name", TABLES)
def test_an_answer_is_what_the_interface_tables_say(document: Json, name: str) -> None:
    schema = document["components"]["schemas"][name]
    table = TABLES[name]
    assert schema["properties"].keys() == table.keys()
    assert set(schema["required"]) == {key for key, rule in table.items() if not rule.optional}
    for key, rule in table.items():
        assert list(differences(schema["properties"][key], rule)) == [], key


def test_every_schema_is_valid_and_closed_and_each_reference_leads_on(
    document: Json,
) -> None:
    for name, schema in document["components"]["schemas"].items():
        jsonschema_rs.meta.validate(schema)
        whole = {**schema, "components": document["components"]}
        jsonschema_rs.Draft202012Validator(whole)
        assert schema["additionalProperties"] is False, name
    for reference in references(document):
        part: Any = document
        for step in reference.removeprefix("#/").split("/"):
            part = part[step]


def test_the_page_describes_every_endpoint_and_loads_nothing(client: FlaskClient) -> None:
    answer = client.get("/v1/docs")
    page = answer.text
    assert answer.content_type.startswith("text/html")
    for _, path in ENDPOINTS:
        assert path in page
    assert set(re.findall(r"<(script|link|img|iframe)", page)) == set()
    # The page must work without any other host, and leak no address to one.
    for target in re.findall(r'(?:href|src)="([^"]*)"', page):
        assert target.startswith(("#", "/v1/"))
    for anchor in re.findall(r'href="#([^"]*)"', page):
        assert f'id="{anchor}"' in page


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        for inner in part.values():
            yield from references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from references(inner)


def differences(schema: Json, rule: Is) -> Iterator[str]:
    """The differences between the schema of a property and the rule of the contract."""
    members = schema.get("anyOf", [schema])
    kinds = [member for member in members if member.get("type") != "null"]
    kind = schema.get("type")
    listed: list[str] = kind if isinstance(kind, list) else []
    if rule.kind in {"any", "scalar"}:
        return
    if (len(kinds) < len(members) or "null" in listed) != rule.nullable:
        yield f"nullable: {schema}"
    about = {**kinds[0]}
    if listed:
        about["type"] = next(name for name in listed if name != "null")
    yield from _other_kind(about, rule)
    if rule.of is not None and rule.of.kind != "any":
        inner = about["items"] if rule.kind == "array" else about["additionalProperties"]
        yield from differences(inner, rule.of)


def _other_kind(about: Json, rule: Is) -> Iterator[str]:
    if rule.kind == "table":
        if about != {"$ref": f"#/components/schemas/{rule.table}"}:
            yield f"{about} is not {rule.table}"
        return
    types = {"array": "array", "by-field": "object", "by-name": "object"}
    plain = rule.kind in {"integer", "number", "boolean"}
    expected = rule.kind if plain else types.get(rule.kind, "string")
    if about.get("type") != expected:
        yield f"{about} is not {expected}"
    formats = {"uuid", "uri", "date-time"}
    # Only these: a plain string of the contract may have a closer format in the document.
    if rule.kind in formats and about.get("format") != rule.kind:
        yield f"{about} has not the format of {rule.kind}"
    if rule.among and about.get("enum") != list(rule.among):
        yield f"{about} is not one of {rule.among}"
    if rule.pattern and about.get("pattern") != rule.pattern:
        yield f"{about} has not the pattern {rule.pattern}"
    low, high = {
        "integer": ("minimum", "maximum"),
        "array": ("minItems", "maxItems"),
    }.get(expected, ("minLength", "maxLength"))
    # A bound of exactly one value is written as that value.
    if about.get("enum") == [rule.low]:
        return
    if rule.low and about.get(low) != rule.low:
        yield f"{about} has not {low} {rule.low}"
    if rule.high is not None and about.get(high, about.get("maximum")) != rule.high:
        yield f"{about} has not {high} {rule.high}"


def test_where_requests_are_limited_each_endpoint_declares_429(
    client: FlaskClient, store: Store, document: Json
) -> None:
    store.limits = Limits(requests=5)
    limited: Any = client.get("/v1/openapi.json").json
    assert "429" not in {
        status
        for methods in document["paths"].values()
        for operation in methods.values()
        for status in operation["responses"]
    }
    for methods in limited["paths"].values():
        for operation in methods.values():
            told = operation["responses"].pop("429")
            assert told["headers"].keys() == {"X-Credits-Remaining", "X-Request-Id", "Retry-After"}
    limited["components"]["headers"].pop("Retry-After")
    assert limited == document
