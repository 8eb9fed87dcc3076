"""Reading a body: JSON of at most 1 MiB, strictly (Errors over HTTP of the decisions)."""

from __future__ import annotations

from flask import request

from livedata.api.responses import UnsupportedMediaType
from livedata.messages.strict_json import parse_json
from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.errors import BadRequest, Invalid


def read_body(shape: type[Shape], *, unreadable_is_400: bool) -> Shape:
    """The body of this request as a `shape`.

    Raises UnsupportedMediaType, Invalid, and for JSON that cannot be read BadRequest where the
    endpoint declares 400, else Invalid; the framework refuses a body that is too large.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMediaType
    try:
        value = parse_json(request.get_data(cache=False))
    except BadRequest as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}."
        raise (BadRequest if unreadable_is_400 else Invalid)(message) from None
    return read(shape, value)
