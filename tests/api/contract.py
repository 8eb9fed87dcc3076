"""The contract of section 4 for each endpoint, and the check of every answer against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from tests.api.kinds import Is, Table, a
from tests.api.tables import TABLES
from tests.shell_words import OF_A_SHELL


@dataclass(frozen=True)
class Declared:
    """The success status, answer and errors of an endpoint, as section 4 declares them."""

    status: int
    answer: str
    errors: tuple[int, ...]


ENDPOINTS: Mapping[tuple[str, str], Declared] = {
    ("POST", "/v1/datasets"): Declared(201, "DatasetAnswer", (401, 409, 422, 500)),
    ("GET", "/v1/datasets"): Declared(200, "DatasetPage", (400, 401, 500)),
    ("GET", "/v1/datasets/{datasetId}"): Declared(200, "DatasetAnswer", (401, 404, 500)),
    ("PATCH", "/v1/datasets/{datasetId}"): Declared(
        200, "DatasetAnswer", (401, 404, 409, 422, 500)
    ),
    ("GET", "/v1/datasets/{datasetId}/rows"): Declared(200, "RowPage", (400, 401, 404, 500)),
    ("GET", "/v1/datasets/{datasetId}/rows/{rowId}"): Declared(200, "RowDetail", (401, 404)),
    ("PATCH", "/v1/datasets/{datasetId}/rows/{rowId}"): Declared(
        200, "RowRevision", (400, 401, 404, 409, 422)
    ),
    ("GET", "/v1/datasets/{datasetId}/changes"): Declared(200, "ChangePage", (400, 401, 404, 422)),
    ("GET", "/v1/datasets/{datasetId}/table"): Declared(
        200, "TableAnswer", (400, 401, 404, 406, 500)
    ),
    ("GET", "/v1/datasets/{datasetId}/runs"): Declared(200, "RunList", (400, 401, 404)),
    ("POST", "/v1/datasets/{datasetId}/runs"): Declared(
        202, "RunQueued", (401, 402, 404, 409, 503)
    ),
    ("GET", "/v1/runs/{runId}"): Declared(200, "RunAnswer", (401, 404, 500)),
    ("GET", "/v1/runs/{runId}/artifacts"): Declared(200, "ArtifactIndex", (401, 404)),
    ("GET", "/v1/runs/{runId}/artifacts/{artifactId}"): Declared(200, "ArtifactAnswer", (401, 404)),
    ("GET", "/v1/runs/{runId}/diagnostics"): Declared(200, "DiagnosticsAnswer", (400, 401, 404)),
    ("GET", "/v1/runs/{runId}/trace"): Declared(200, "TraceAnswer", (401, 404, 500)),
    ("POST", "/v1/research/datasets"): Declared(201, "DatasetAnswer", (401, 409, 422, 500, 503)),
    ("GET", "/v1/usage"): Declared(200, "Usage", (401, 500)),
}

CODES: Mapping[int, frozenset[str]] = {
    400: frozenset({"bad_request"}),
    401: frozenset({"unauthenticated"}),
    402: frozenset({"insufficient_credits"}),
    404: frozenset({"not_found"}),
    405: frozenset({"method_not_allowed"}),
    406: frozenset({"form_unavailable"}),
    409: frozenset(
        {
            *("conflict", "name_taken", "schema_version_conflict", "revision_conflict"),
            *("request_id_reused", "run_in_progress", "limit_reached"),
        }
    ),
    413: frozenset({"payload_too_large"}),
    415: frozenset({"unsupported_media_type"}),
    422: frozenset({"validation_failed"}),
    429: frozenset({"too_many_requests"}),
    500: frozenset({"internal"}),
    503: frozenset({"queue_unavailable", "research_unavailable"}),
}
EXTENSIONS = {("POST", "/v1/research/datasets"), ("GET", "/v1/datasets/{datasetId}/table")}
"""The endpoints that section 4 does not list."""
ADDITIONS = {405, 413, 415}
"""The statuses that no endpoint of the interface declares."""
LIMITED = 429
"""The status that any endpoint has where a setting limits requests."""

# Version 7: ids of livedata are ordered by the time at which they were made.
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")


def endpoint_of(method: str, path: str) -> tuple[str, str] | None:
    """The endpoint for a method and path, or None."""
    for declared_method, template in ENDPOINTS:
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
        if declared_method == method and re.fullmatch(pattern, path):
            return declared_method, template
    return None


def problems(method: str, path: str, status: int, body: object) -> list[str]:
    """All that is wrong with an answer."""
    told = OF_A_SHELL.search(json.dumps(body))
    if told is not None:
        return [f"{method} {path} tells of {told[0]!r}, which nobody has over HTTP"]
    endpoint = endpoint_of(method, path)
    declared = ENDPOINTS[endpoint] if endpoint else None
    if declared and status == declared.status:
        return list(wrong(body, a(declared.answer), declared.answer))
    broken = list(wrong(body, a("ErrorAnswer"), "error"))
    # Any endpoint may fail inside, whether or not it declares a 500.
    if declared and status not in {*declared.errors, *ADDITIONS, LIMITED, 500}:
        broken.append(f"{method} {path} does not declare {status}")
    if not broken and isinstance(body, dict) and body["error"]["code"] not in CODES.get(status, ()):
        broken.append(f"{body['error']['code']} is not a code of {status}")
    return broken


def wrong(value: object, rule: Is, path: str) -> Iterator[str]:
    """The problems of a value, and of all values inside it."""
    if value is None:
        if not (rule.nullable or rule.kind in {"scalar", "any"}):
            yield f"{path} is null"
    elif rule.kind == "table":
        yield from _wrong_table(value, TABLES[rule.table], path)
    elif rule.kind == "array":
        yield from _wrong_array(value, rule, path)
    elif rule.kind in {"by-field", "by-name"}:
        yield from _wrong_map(value, rule, path)
    elif not _is(rule, value):
        yield f"{path} is {value!r}, not {rule}"


def _wrong_table(value: object, table: Table, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is not an object"
        return
    for key in value.keys() - table.keys():
        yield f"{path}.{key} is not of the contract"
    for key, rule in table.items():
        if key in value:
            yield from wrong(value[key], rule, f"{path}.{key}")
        elif not rule.optional:
            yield f"{path}.{key} is missing"


def _wrong_array(value: object, rule: Is, path: str) -> Iterator[str]:
    assert rule.of is not None
    if not isinstance(value, list) or not _within(rule, len(value)):
        yield f"{path} is not an array of {rule.low} to {rule.high}"
        return
    for index, entry in enumerate(value):
        yield from wrong(entry, rule.of, f"{path}[{index}]")


def _wrong_map(value: object, rule: Is, path: str) -> Iterator[str]:
    assert rule.of is not None
    if not isinstance(value, dict):
        yield f"{path} is not an object"
        return
    for key, entry in value.items():
        if rule.kind == "by-field" and not _UUID.fullmatch(key):
            yield f"{path} has the key {key!r}, which is not a field id"
        yield from wrong(entry, rule.of, f"{path}.{key}")


def _is(rule: Is, value: Any) -> bool:
    if rule.kind == "any":
        return True
    if rule.kind == "scalar":
        return isinstance(value, (str, int, float))
    if rule.kind == "boolean":
        return isinstance(value, bool)
    # To Python True is an int; in JSON it is no number.
    if rule.kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool) and _within(rule, value)
    if rule.kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, str) and _is_text(rule, value)


def _is_text(rule: Is, value: str) -> bool:
    if rule.kind == "uuid":
        return _UUID.fullmatch(value) is not None
    if rule.kind == "date-time":
        return bool(_WHEN.fullmatch(value)) and datetime.fromisoformat(value) is not None
    # What a search gave has no address: its URI names no host.
    has_host = bool(urlsplit(value).scheme and urlsplit(value).netloc)
    if rule.kind == "uri" and not has_host and value != "urn:livedata:search":
        return False
    allowed = not rule.among or value in rule.among
    return allowed and _within(rule, len(value)) and bool(re.search(rule.pattern, value))


def _within(rule: Is, size: int) -> bool:
    low = rule.low if rule.low is not None else size
    return low <= size and (rule.high is None or size <= rule.high)
