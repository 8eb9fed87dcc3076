"""The OpenAPI 3.1 document of /v1, built from the endpoints and their shapes, and its page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    Required,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from flask import Blueprint, Response, current_app

from livedata.api.docs import page
from livedata.api.endpoints import ENDPOINTS, AppContext, Endpoint
from livedata.api.envelopes import ErrorAnswer
from livedata.api.responses import VERSION, reply
from livedata.formats.json_schema import JsonSchema, shape_schemas
from livedata.model.wire import SchemaKeyword

REF = "#/components/schemas/"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class Answers:
    """A builder of answer schemas; every typed dictionary that it meets becomes a component."""

    def __init__(self) -> None:
        self.components: dict[str, JsonSchema] = {}

    def of(self, kind: Any, variables: dict[Any, Any] | None = None) -> JsonSchema:
        """The schema of a type; `variables` are the type arguments of the dictionary around it.

        Raises TypeError for a type that has no schema.
        """
        arguments = variables or {}
        origin, inner = get_origin(kind), get_args(kind)
        # The order matters: a typed dictionary that is generic has an origin too.
        if kind is Any or kind is object:
            return {}
        if isinstance(kind, TypeVar):
            return self.of(arguments[kind])
        if kind in _PLAIN:
            return {"type": _PLAIN[kind]}
        if is_typeddict(origin or kind):
            return self._dictionary(origin or kind, inner)
        if origin is Annotated:
            words = (note for note in inner[1:] if isinstance(note, SchemaKeyword))
            return {**self.of(inner[0], arguments), **{word.keyword: word.value for word in words}}
        if origin is Literal:
            return {"type": _PLAIN[type(inner[0])], "enum": list(inner)}
        if origin in (Union, UnionType):
            return self._union([self.of(member, arguments) for member in inner])
        if origin is list:
            return {"type": "array", "items": self.of(inner[0], arguments)}
        if origin is dict:
            names = self.of(inner[0], arguments)
            about = {} if names == {"type": "string"} else {"propertyNames": names}
            return {"type": "object", "additionalProperties": self.of(inner[1], arguments), **about}
        raise TypeError(f"an answer cannot hold {kind!r}")

    @staticmethod
    def _union(members: list[JsonSchema]) -> JsonSchema:
        if all(member.keys() == {"type"} for member in members):
            return {"type": [member["type"] for member in members]}
        return {"anyOf": members}

    def _dictionary(self, shape: Any, inner: tuple[Any, ...]) -> JsonSchema:
        # Page[Row] becomes RowPage: a component's name must be plain text.
        name = "".join(argument.__name__ for argument in inner) + shape.__name__
        if name not in self.components:
            self.components[name] = {}  # a type that refers to itself must find its name here
            arguments = dict(zip(getattr(shape, "__parameters__", ()), inner, strict=True))
            hints = get_type_hints(shape, include_extras=True)
            self.components[name] = {
                "type": "object",
                "description": _first_line(shape),
                "properties": {key: self.of(_bare(hint), arguments) for key, hint in hints.items()},
                "required": [key for key, hint in hints.items() if _is_required(hint, shape)],
                "additionalProperties": False,
            }
        return {"$ref": REF + name}


def _bare(hint: Any) -> Any:
    return get_args(hint)[0] if get_origin(hint) in (NotRequired, Required) else hint


def _is_required(hint: Any, shape: Any) -> bool:
    # __required_keys__ does not see through annotations that are kept as text.
    if shape.__total__:
        return get_origin(hint) is not NotRequired
    return get_origin(hint) is Required


def _first_line(shape: Any) -> str:
    return str(shape.__doc__ or "").splitlines()[0]


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
    429: "More requests came for the owner than each may send in a second; see Retry-After.",
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
_RETRY_AFTER: dict[str, Any] = {
    "description": "The seconds after which there is room for a request again.",
    "required": True,
    "schema": {"type": "integer", "minimum": 1},
}


@cache
def document(*, limited: bool = False) -> dict[str, Any]:
    """The whole OpenAPI document; where requests are `limited`, each endpoint says so."""
    answers = Answers()
    paths: dict[str, dict[str, Any]] = {}
    for entry in ENDPOINTS:
        statuses = (*entry.statuses, 429) if limited else entry.statuses
        operation = _operation(entry, statuses, answers)
        paths.setdefault("/v1" + entry.path, {})[entry.method.lower()] = operation
    sent = shape_schemas([entry.body for entry in ENDPOINTS if entry.body], REF)
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
            "headers": {**_HEADERS, **({"Retry-After": _RETRY_AFTER} if limited else {})},
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
        "/openapi.json", "openapi", lambda: reply(_own()), provide_automatic_options=False
    )
    about.add_url_rule("/docs", "docs", _docs, provide_automatic_options=False)
    return about


def _own() -> dict[str, Any]:
    """The document of this server."""
    app: AppContext = current_app.extensions["livedata"]
    return document(limited=any(each.requests is not None for each in app.store.limits.sets))


def _docs() -> Response:
    answer = Response(page(_own()), mimetype="text/html")
    # The page has no script and loads nothing: a browser then runs none that slips in.
    answer.headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'"
    return answer


def _operation(entry: Endpoint, statuses: Sequence[int], answers: Answers) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": entry.name,
        "summary": (entry.view.__doc__ or "").strip(),
        "parameters": [
            *map(_path_parameter, entry.path_names),
            *_query(entry),
            *_headers(entry),
        ],
        "responses": {str(status): _response(entry, status, answers) for status in statuses},
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
    waits = ("Retry-After",) if status == 429 else ()
    names = ("X-Credits-Remaining", "X-Request-Id", *(("ETag",) if tagged else ()), *told, *waits)
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
