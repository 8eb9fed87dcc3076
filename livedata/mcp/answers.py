"""How answers stay small: compact JSON, at most so many bytes, with a mark where a text is cut."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import mcp_types as types
import orjson
from mcp.shared.exceptions import MCPError

from livedata.messages.controls import escape_controls
from livedata.model.errors import Invalid
from livedata.model.row import Scalar

Item = TypeVar("Item")
Answer = dict[str, Any]

LONGEST_ANSWER: Final = 40_000
"""So many bytes has an answer at most: some clients cut off, or refuse, what is longer."""
_LONGEST_LIST: Final = 30_000
"""So many bytes has the list of an answer: the rest is left to what is said about it."""
_LONGEST_OBJECT: Final = 25_000
"""So many bytes has an answer of cells: a list stands behind them."""
LONGEST_CELL: Final = 1_000
_CELLS: Final = (LONGEST_CELL, 200, 40, 10)
"""So many characters are shown of a text; fewer where a single row would be too long."""
LONGEST_SENTENCE: Final = 600
_LONGEST_NESTED: Final = 50
"""So many entries of a list are shown that has no cursor."""


def cut_text(text: str, most: int) -> str:
    r"""At most `most` characters of a text, with what steers a terminal written out as ``\x1b``.

    The mark of a cut text says how many characters more it has.
    """
    start = escape_controls(text[:most])
    if len(text) <= most and len(start) <= most:
        return start
    shown = start[:most]
    return f"{shown}… [+{max(len(text) - len(shown), 1)} characters]"


def cut_cell(value: Scalar, most: int) -> Scalar:
    """A cell, of a text only its beginning."""
    return cut_text(value, most) if isinstance(value, str) else value


def cut_sentence(text: str | None, most: int = LONGEST_SENTENCE) -> str | None:
    """A sentence that may quote a site."""
    return None if text is None else cut_text(text, min(most, LONGEST_SENTENCE))


def cut_texts(value: Any, most: int) -> Any:
    """The same value with all of its texts, and as many of the entries of each list, cut."""
    if isinstance(value, dict):
        return {name: cut_texts(entry, most) for name, entry in value.items()}
    if isinstance(value, list):
        return [cut_texts(entry, most) for entry in value[:_LONGEST_NESTED]]
    return cut_cell(value, most)


def compact(answer: object) -> bytes:
    """An answer as it is sent."""
    return orjson.dumps(answer)


def fit(
    items: Iterable[Item],
    render: Callable[[Item, int], object],
    most: int,
    room: int = _LONGEST_LIST,
) -> tuple[list[Any], bool]:
    """At most `most` items as an answer has them, in `room` bytes; and whether there are more.

    `render` makes an entry of an item, with so many characters of each text. At least one item is
    there, if there is any: its texts are cut until it fits.
    """
    entries: list[Any] = []
    for item in items:
        if len(entries) == most:
            return entries, True
        for characters in _CELLS:
            entry = render(item, characters)
            size = len(compact(entry)) + 1
            if size <= room or entries:
                break
        if size > room:
            return entries, True
        entries.append(entry)
        room -= size
    return entries, False


def fitting(build: Callable[[int], Answer]) -> Answer:
    """An answer that is no list, with as many characters of each text as fit."""
    for characters in _CELLS:
        answer = build(characters)
        if len(compact(answer)) <= _LONGEST_OBJECT:
            break
    return answer


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
