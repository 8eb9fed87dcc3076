"""Cuts a long page down to the part that is kept: around its items, not its first characters."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from livedata.model.harvest import LONGEST_MARKUP
from livedata.rules.diagnosis.markup_pieces import WantedTexts, hide_unseen, shown_pieces

LEAD: Final = 4 * 1024
"""The characters before the first known text: where its item begins, and what stands above it."""

_BODY: Final = re.compile(r"<body\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z]")


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
    for at, piece in shown_pieces(shown) if texts else ():
        if not missing and at > last + size:
            break  # a page of 5 MB is not looked through for a list at its beginning
        for text in wanted.among(piece):
            places.append((at, text))
            if text in missing:
                missing.remove(text)
                last = at
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
