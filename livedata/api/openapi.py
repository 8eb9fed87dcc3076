"""The OpenAPI 3.1 document of /v1, built from the endpoints and their shapes, and its page."""

from __future__ import annotations

from functools import cache
from typing import Any

from flask import Blueprint, Response

from livedata.api.docs import page
from livedata.api.endpoints import ENDPOINTS, Endpoint
from livedata.api.envelopes import ErrorAnswer
from livedata.api.responses import VERSION, reply
from livedata.api.schemas import REF, Answers, bodies

MEANINGS = {
    200: "What was asked for.",
    201: "Created.",
    202: "Durably queued.",
    304: "The answer is the one that If-None-Match names.",
    400: "A query parameter or the JSON of the body is malformed.",
    401: "The API key is missing, unknown or revoked.",
    402: "The balance is 0.",
    404: "There is no such thing for this owner.",
    405: "The path does not know the method.",
    406: "The form needs a part of livedata that is not installed.",
    409: "What was asked contradicts what is there; the code says how.",
    413: "The body is larger than 1 MiB.",
    415: "The body is not declared as application/json.",
    422: "What was sent can be read but breaks a rule; details name the places.",
    500: "Something went wrong inside; X-Request-Id names it in the log.",
    503: "The queue is unavailable, or research is; the code says which. Nothing was accepted.",
}
_ABOUT = (
    "Declared tables from websites: datasets, their checked rows and history, the Runs that "
    "collect them, what explains a Run, and credits."
)
_HEADERS: dict[str, Any] = {
    "ETag": {
        "description": "What If-None-Match may name next time; a later page of rows has none.",
        "schema": {"type": "string"},
    },
    "X-Credits-Remaining": {
        "description": "The owner's credits; 0 where authentication did not succeed.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-Livedata-State": {
        "description": "ok, or why the rows, the last good ones, may be old: draft, paused, held, "
        "failed or blocked.",
        "required": True,
        "schema": {"type": "string"},
    },
    "X-Livedata-Through": {
        "description": "The sequence of the last change that the answer has.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
    "X-Request-Id": {
        "description": "The name of this request in the log.",
        "required": True,
        "schema": {"type": "string", "format": "uuid"},
    },
}


@cache
def document() -> dict[str, Any]:
    """The whole OpenAPI document."""
    answers = Answers()
    paths: dict[str, dict[str, Any]] = {}
    for entry in ENDPOINTS:
        paths.setdefault("/v1" + entry.path, {})[entry.method.lower()] = _operation(entry, answers)
    sent = bodies([entry.body for entry in ENDPOINTS if entry.body])
    # Both kinds of shape share one table of names in the document.
    clash = sent.keys() & answers.components.keys()
    assert not clash, f"two shapes of one name: {clash}"
    return {
        "openapi": "3.1.0",
        "info": {"title": "livedata", "version": VERSION, "description": _ABOUT},
        "security": [{"apiKey": []}],
        "paths": paths,
        "components": {
            "schemas": {**answers.components, **sent},
            "headers": _HEADERS,
            "securitySchemes": {
                "apiKey": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key: livedata key create makes one.",
                }
            },
        },
    }


def blueprint() -> Blueprint:
    """The routes of the document and of its page; both hold no data and need no key."""
    about = Blueprint("about", __name__, url_prefix="/v1")
    about.add_url_rule(
        "/openapi.json", "openapi", lambda: reply(document()), provide_automatic_options=False
    )
    about.add_url_rule("/docs", "docs", _docs, provide_automatic_options=False)
    return about


def _docs() -> Response:
    answer = Response(page(document()), mimetype="text/html")
    # The page has no script and loads nothing: a browser then runs none that slips in.
    answer.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return answer


def _operation(entry: Endpoint, answers: Answers) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": entry.name,
        "summary": (entry.view.__doc__ or "").strip(),
        "parameters": [
            *map(_path_parameter, entry.path_names),
            *_query(entry),
            *_headers(entry),
        ],
        "responses": {str(status): _response(entry, status, answers) for status in entry.statuses},
    }
    if entry.is_extension:
        operation["x-livedata-extension"] = True
    if entry.body:
        schema = {"$ref": REF + entry.body.__name__}
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema}},
        }
    return operation


def _path_parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string", "format": "uuid"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _query(entry: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": parameter.name,
            "in": "query",
            "description": parameter.about,
            "schema": parameter.schema,
            **({"style": "form", "explode": True} if parameter.repeatable else {}),
        }
        for parameter in entry.parameters
    ]


def _headers(entry: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": header.name,
            "in": "header",
            "description": header.about,
            "schema": {"type": "string"},
        }
        for header in entry.headers
    ]


def _response(entry: Endpoint, status: int, answers: Answers) -> dict[str, Any]:
    tagged = entry.is_tagged and status in (entry.status, 304)
    told = ("X-Livedata-State", "X-Livedata-Through") if tagged and entry.media_types else ()
    names = ("X-Credits-Remaining", "X-Request-Id", *(("ETag",) if tagged else ()), *told)
    response: dict[str, Any] = {
        "description": MEANINGS[status],
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in names},
    }
    if status != 304:
        schema = answers.of(entry.answer if status == entry.status else ErrorAnswer)
        response["content"] = {"application/json": {"schema": schema}}
    if status == entry.status:
        # What is no JSON has no schema.
        response["content"] |= {media_type: {} for media_type in entry.media_types[1:]}
    return response
