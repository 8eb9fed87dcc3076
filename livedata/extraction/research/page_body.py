"""A page that was read, no longer than what is kept of it: else its Run could not be replayed."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from msgspec import json
from msgspec.structs import replace

if TYPE_CHECKING:
    from livedata.model.research.answers import PageText

LONGEST_BODY: Final = 62 * 1024
"""The bytes of a page as JSON, a little less than may be kept (interface 8)."""


def bounded(page: PageText) -> PageText:
    """The page with as many links as there is room for; with less text if that alone is too long.

    Only a page with less text is called cut: no row is read from a link.
    """
    if _size(page) <= LONGEST_BODY:
        return page
    links = page.links
    fewer = bisect_right(
        range(len(links)), LONGEST_BODY, key=lambda count: _size(replace(page, links=links[:count]))
    )
    if fewer:
        return replace(page, links=links[: fewer - 1])
    return _with_less_text(replace(page, links=[], cut=True))


def _with_less_text(page: PageText) -> PageText:
    text = page.text
    longest = bisect_right(
        range(len(text)), LONGEST_BODY, key=lambda length: _size(replace(page, text=text[:length]))
    )
    kept = text[: max(longest - 1, 0)]
    # At the end of a line, so that no row is there by half: a half of it may be another value.
    return replace(page, text=kept[: kept.rfind("\n")] if "\n" in kept else kept)


def _size(page: PageText) -> int:
    return len(json.encode(page))
