"""Cursors: where an answer ended, as a text that an agent passes on and does not write itself."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any, Final

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError

from livedata.messages.controls import escape_controls
from livedata.model.errors import Invalid

LONGEST_CURSOR: Final = 2_000
"""So many characters has the cursor of the longest name."""
_NO_CURSOR: Final = (
    "cursor is not the next of an answer to this question: pass the cursor of its last answer, or "
    "none to begin anew."
)
_UNPAGED: Final = "cursor leads to no page of this list, which is whole: ask for it without one."


def write_cursor(place: object) -> str:
    """The cursor that leads to a place."""
    # No signature: it gives no access to anything, since the question is asked anew.
    return urlsafe_b64encode(orjson.dumps(place)).rstrip(b"=").decode()


def read_cursor(cursor: str) -> Any:
    """The place that a cursor leads to; None if it is none that was written."""
    try:
        place = orjson.loads(urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)))
    except ValueError:
        return None
    # Base64 can say the same in several ways, and only one of them is ours.
    return place if write_cursor(place) == cursor else None


def no_cursor() -> Invalid:
    """The error for a cursor that belongs to no answer."""
    return Invalid(_NO_CURSOR)


def read_name(cursor: str | None) -> str:
    """The name after which a list of names goes on; "" from its beginning. Raises Invalid."""
    if cursor is None:
        return ""
    place = read_cursor(cursor)
    if not isinstance(place, str) or not place or escape_controls(place) != place:
        raise no_cursor()
    return place


def refuse_cursor(params: types.PaginatedRequestParams | None) -> None:
    """Refuse a cursor of a list that has a single page. Raises MCPError."""
    if params is not None and params.cursor is not None:
        raise MCPError(types.INVALID_PARAMS, _UNPAGED)
