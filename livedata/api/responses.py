"""Responses: answers in JSON, and the status of every kind of error (interface 7)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from flask import Response, g, request
from werkzeug.exceptions import HTTPException

from livedata.messages.remedies import advice
from livedata.model.errors import (
    BadRequest,
    Conflict,
    Damaged,
    FormUnavailable,
    InsufficientCredits,
    Invalid,
    LivedataError,
    NotFound,
    ResearchUnavailable,
    StoreUnavailable,
    TooManyRequests,
)
from livedata.store.database.store import Store

VERSION = "1.0.0"
"""The version of the API: interface 9."""
MAX_BODY = 1024 * 1024
"""The largest body that is read, in bytes."""

log = logging.getLogger("livedata.api")


class Unauthenticated(LivedataError):
    """A valid API key is required: send it as "Authorization: Bearer <key>"."""

    code = "unauthenticated"


class MethodNotAllowed(LivedataError):
    """This path does not know this method; the Allow header lists those that it knows."""

    code = "method_not_allowed"


class PayloadTooLarge(LivedataError):
    """The body is larger than 1 MiB."""

    code = "payload_too_large"


class UnsupportedMediaType(LivedataError):
    """The body must be JSON: send it with "Content-Type: application/json"."""

    code = "unsupported_media_type"


class NoSuchPath(NotFound):
    """There is nothing at this path; /v1/docs lists what there is."""


class Internal(LivedataError):
    """Something went wrong inside the service; the X-Request-Id of this answer names it."""

    code = "internal"


STATUSES: Mapping[type[LivedataError], int] = {
    BadRequest: 400,
    Unauthenticated: 401,
    InsufficientCredits: 402,
    NotFound: 404,
    MethodNotAllowed: 405,
    FormUnavailable: 406,
    Conflict: 409,
    PayloadTooLarge: 413,
    UnsupportedMediaType: 415,
    Invalid: 422,
    TooManyRequests: 429,
    StoreUnavailable: 503,
    ResearchUnavailable: 503,
}
"""Error class -> status. All other errors are a 500."""

# Errors that Flask itself raises: werkzeug's words are replaced by ours.
_BY_HTTP_STATUS: Mapping[int, type[LivedataError]] = {
    400: BadRequest,
    404: NoSuchPath,
    405: MethodNotAllowed,
    413: PayloadTooLarge,
}
_UNAVAILABLE = "The queue is unavailable, so the Run was not accepted; try again later."


def reply(answer: object, status: int = 200) -> Response:
    """The response with `answer` as JSON. Bytes are sent as they are: they are JSON already."""
    body = answer if isinstance(answer, bytes) else orjson.dumps(answer)
    return Response(body, status, mimetype="application/json")


def entity_tag(state: object) -> str:
    """The entity tag of this question's answer, which is made of nothing but `state`."""
    # With the question: a tag that matches was sent with a 200 to the very same one.
    made_of = repr((VERSION, request.full_path, state))
    return hashlib.sha256(made_of.encode()).hexdigest()[:32]


def is_known(tag: str) -> bool:
    """Whether the client has the answer with this entity tag already."""
    return tag in request.if_none_match.as_set(include_weak=True)


def not_modified() -> Response:
    """The response to a client that has the answer already."""
    return Response(status=304)


def error_body(error: LivedataError) -> dict[str, Any]:
    """The body for an error: its code, its sentences and the wrong places."""
    # The store's own message names files of the server; clients must not see them.
    message = _UNAVAILABLE if isinstance(error, StoreUnavailable) else error.message
    sentences = [message, *(f"{advice(remedy)}." for remedy in error.remedies)]
    body: dict[str, Any] = {"code": error.code, "message": " ".join(sentences)}
    if error.details:
        body["details"] = [
            {"path": detail.path, "message": detail.message} for detail in error.details
        ]
    return {"error": body}


def status_of(error: LivedataError) -> int:
    """The status of an error."""
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), 500)


def error_response(error: LivedataError) -> Response:
    """The response for an error: its status and body."""
    answer = reply(error_body(error), status_of(error))
    if isinstance(error, Unauthenticated):
        # RFC 9110: a 401 without this header is not complete.
        answer.headers["WWW-Authenticate"] = "Bearer"
    if isinstance(error, TooManyRequests):
        answer.headers["Retry-After"] = str(error.retry_after)
    return answer


def http_error_response(error: HTTPException) -> Response:
    """The response for an error of Flask: an unknown path or method, or a large body."""
    kind = _BY_HTTP_STATUS.get(error.code or 500)
    if kind is None:
        log_failure(error)
        return error_response(Internal())
    answer = error_response(kind())
    # Only Allow: the content type and length that werkzeug gives are those of its own page.
    for name, value in error.get_headers():
        if name == "Allow":
            answer.headers[name] = value
    return answer


@contextmanager
def failing_inside() -> Iterator[None]:
    """Answer that something went wrong inside if the store cannot be reached."""
    try:
        yield
    except StoreUnavailable as error:
        log.warning("request %s: %s", g.request_id, error)
        raise Internal from error


def log_failure(
    error: Exception, store: Store | None = None, request_id: str | None = None
) -> None:
    """Say in the log, by request id, why a request failed: nobody else is to know.

    It is the record of the `store` that cannot be read, or else the traceback.
    """
    try:
        if store is not None:
            store.raise_damage(error)
    except Damaged as damaged:
        error = damaged
    except StoreUnavailable:
        pass
    request_id = request_id or g.get("request_id")
    if isinstance(error, Damaged):
        log.error("request %s: %s", request_id, error)
    else:
        log.error("request %s failed", request_id, exc_info=error)
