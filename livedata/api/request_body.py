"""Reading a body: JSON of at most 1 MiB, strictly (rules 2.4 and 2.5)."""

from __future__ import annotations

from flask import request

from livedata.api.responses import UnsupportedMediaType
from livedata.messages.strict_json import parse_json
from livedata.messages.validation import read
from livedata.model.base import Shape
from livedata.model.errors import BadRequest, Invalid


def read_body(shape: type[Shape], *, unreadable_is_400: bool) -> Shape:
    """The body of this request as a `shape`.

    Raises UnsupportedMediaType; Invalid for values that break a rule; and for text that is not
    JSON either BadRequest or Invalid, as `unreadable_is_400` says.
    """
    if request.mimetype != "application/json":
        raise UnsupportedMediaType
    try:
        # Flask raises RequestEntityTooLarge here for more than MAX_CONTENT_LENGTH bytes.
        value = parse_json(request.get_data(cache=False))
    except BadRequest as error:
        # Not every endpoint of the interface has a 400: the others answer 422.
        message = f"{error.message[:1].upper()}{error.message[1:]}."
        raise (BadRequest if unreadable_is_400 else Invalid)(message) from None
    return read(shape, value)
