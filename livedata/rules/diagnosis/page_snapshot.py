"""Chooses the page of a Run that is kept to be shown, cuts it, and counts the matches on it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from livedata.model.diagnosis.recorded_run import PageCounts
from livedata.model.harvest import LONGEST_MARKUP, Harvest, PageRead, PageSnapshot
from livedata.rules.diagnosis.markup_pieces import WantedTexts, hide_unseen, shown_pieces

OF_THE_WHOLE = 1
"""The page that is kept for a problem of the whole Run, such as a mass loss."""
LEAD: Final = 4 * 1024
"""The characters before the first known text: where its item begins, and what stands above it."""

_BODY: Final = re.compile(r"<body\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z]")


def page_to_keep(harvest: Harvest, number: int | None) -> PageSnapshot | None:
    """The last answer to the request for page `number`; None if there was none."""
    wanted = OF_THE_WHOLE if number is None else number
    answers = [page for page in harvest.seen if page.number == wanted]
    # A page that was asked for again has several answers; the last one decided the Run.
    return answers[-1] if answers else None


def shorten(page: PageSnapshot, texts: Iterable[str]) -> PageSnapshot:
    """A page cut down to LONGEST_MARKUP; the part in which most of the `texts` are is kept."""
    if len(page.markup) <= LONGEST_MARKUP:
        return page
    part = excerpt(page.markup.decode(), frozenset(texts))
    return replace(page, markup=part.encode(), cut=True)


def counts(harvest: Harvest, number: int) -> PageCounts | None:
    """The counts of matches on page `number`; None if it was not read."""
    for page in harvest.pages:
        if page.number == number:
            return _counts(page)
    return None


def _counts(page: PageRead) -> PageCounts:
    filled = [
        sum(record.values[position] is not None for record in page.records)
        for position in range(len(page.matches))
    ]
    counts: PageCounts = {"items": len(page.records), "matched": page.matches, "filled": filled}
    if page.links is not None:
        counts["links"] = page.links
    return counts


def excerpt(markup: str, texts: frozenset[str]) -> str:
    """The part of a page in which most of the texts are; at most LONGEST_MARKUP bytes of it."""
    # A text in the head or in a script does not show where the items are.
    shown = hide_unseen(markup)
    size = LONGEST_MARKUP * len(markup) // len(markup.encode())
    start = _fullest(_places(shown, texts, size), size - LEAD)
    if start is None:
        body = _BODY.search(shown)
        start = body.start() if body else 0
    else:
        # At a tag, if one begins before the text: a part of a tag would be shown as text.
        tag = _TAG.search(markup, max(0, start - LEAD), start)
        start = tag.start() if tag else start
    part = markup[start : start + LONGEST_MARKUP].encode()[:LONGEST_MARKUP]
    # The bytes may end within a character, which is left out.
    return part.decode("utf-8", "ignore")


def _places(shown: str, texts: frozenset[str], size: int) -> list[tuple[int, str]]:
    """Where the texts are, up to a part's size behind the place by which all have come."""
    places: list[tuple[int, str]] = []
    missing = set(texts)
    wanted = WantedTexts(texts)
    last = 0
    for offset, piece in shown_pieces(shown) if texts else ():
        if not missing and offset > last + size:
            break  # a page of 5 MB is not looked through for a list at its beginning
        for text in wanted.among(piece):
            places.append((offset, text))
            if text in missing:
                missing.remove(text)
                last = offset
    return places


def _fullest(places: Sequence[tuple[int, str]], size: int) -> int | None:
    """Where the part of a size begins that has most of the texts; None if there are none."""
    inside: Counter[str] = Counter()
    end = most = 0
    fullest: int | None = None
    for start, text in places:
        while end < len(places) and places[end][0] < start + size:
            inside[places[end][1]] += 1
            end += 1
        if len(inside) > most:
            most, fullest = len(inside), start
        inside[text] -= 1
        if not inside[text]:
            del inside[text]
    return fullest
