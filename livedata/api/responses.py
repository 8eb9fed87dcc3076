"""What is answered: JSON, and for every kind of error its status (specification 7)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import orjson
from flask import Response, g
from werkzeug.exceptions import HTTPException

from livedata.messages.remedies import advice
from livedata.model.errors import (
    BadRequest,
    Conflict,
    InsufficientCredits,
    Invalid,
    LivedataError,
    NotFound,
    StoreUnavailable,
)

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
    Conflict: 409,
    PayloadTooLarge: 413,
    UnsupportedMediaType: 415,
    Invalid: 422,
    StoreUnavailable: 503,
}
"""Error class -> status. Whatever is not of these is a 500."""

_OF_THE_SERVER: Mapping[int, type[LivedataError]] = {
    400: BadRequest,
    404: NoSuchPath,
    405: MethodNotAllowed,
    413: PayloadTooLarge,
}
_UNAVAILABLE = "The queue is unavailable, so the Run was not accepted; try again later."


def reply(answer: object, status: int = 200) -> Response:
    """`answer` as JSON; bytes are JSON already."""
    body = answer if isinstance(answer, bytes) else orjson.dumps(answer)
    return Response(body, status, mimetype="application/json")


def body_of(error: LivedataError) -> dict[str, Any]:
    """The body of an error: code, sentence, and the places that are wrong."""
    # What the store says about itself names files of the server.
    message = _UNAVAILABLE if isinstance(error, StoreUnavailable) else error.message
    sentences = [message, *(f"{advice(remedy)}." for remedy in error.remedies)]
    said: dict[str, Any] = {"code": error.code, "message": " ".join(sentences)}
    if error.details:
        said["details"] = [asdict(detail) for detail in error.details]
    return {"error": said}


def error_response(error: LivedataError) -> Response:
    """The answer to a request that cannot be granted."""
    known = (status for kind, status in STATUSES.items() if isinstance(error, kind))
    answer = reply(body_of(error), next(known, 500))
    if isinstance(error, Unauthenticated):
        answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def http_error_response(error: HTTPException) -> Response:
    """The same for what the framework refuses: unknown paths and methods, large bodies."""
    kind = _OF_THE_SERVER.get(error.code or 500)
    if kind is None:
        return internal_error(error)
    answer = error_response(kind())
    for name, value in error.get_headers():
        if name == "Allow":
            answer.headers[name] = value
    return answer


def internal_error(error: Exception) -> Response:
    """The answer to what nobody expected: nothing of the inside; the log has it by name."""
    log.error("request %s failed", g.get("request_id"), exc_info=error)
    return error_response(Internal())
