"""How answers stay small: compact JSON, at most so many bytes, with a mark where a text is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

import orjson

from livedata.messages.controls import escape_controls
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
