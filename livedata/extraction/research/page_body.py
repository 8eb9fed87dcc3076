"""A page that was read, in pieces that are short enough to be kept: else no Run can be replayed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from msgspec import json
from msgspec.structs import replace

if TYPE_CHECKING:
    from livedata.model.research.answers import PageText

LONGEST_BODY: Final = 62 * 1024
"""The bytes of a piece as JSON, a little less than may be kept (interface 8)."""
_SHORTEST: Final = 1_000
"""The characters of a piece at least: an address may leave no room for any."""


def pieces(page: PageText) -> Iterator[PageText]:
    """The page in pieces, each with text and links of its own; together they have all of both."""
    rest = page
    while True:
        piece = _piece(rest)
        yield piece
        text, links = rest.text[len(piece.text) :], rest.links[len(piece.links) :]
        if not text and not links:
            return
        rest = replace(page, text=text, links=links)


def _piece(page: PageText) -> PageText:
    """As much text as there is room for, and then as many links."""
    # Most pages are one piece, and looking for the place of a cut takes longer.
    if len(json.encode(page)) <= LONGEST_BODY:
        return page
    text, links = page.text, page.links
    length = _fitting(len(text), lambda count: replace(page, text=text[:count], links=[]))
    part = replace(page, text=_whole_lines(text, max(length, _SHORTEST)), links=[])
    count = _fitting(len(links), lambda count: replace(part, links=links[:count]))
    # Links for which no piece has room stand in one that is too long.
    return replace(part, links=links if not part.text and not count else links[:count])


def _whole_lines(text: str, length: int) -> str:
    """The beginning of a text, up to the end of a line if it has one there."""
    if length >= len(text):
        return text
    return text[: text.rfind("\n", 0, length) + 1 or length]


def _fitting(most: int, shortened: Callable[[int], PageText]) -> int:
    """The largest count up to `most` for which a piece is short enough."""
    # A character or a link has a byte at least.
    counts = range(1, min(most, LONGEST_BODY) + 1)
    return bisect_right(counts, LONGEST_BODY, key=lambda count: len(json.encode(shortened(count))))
