"""The texts by which the rows of a table are known on a page, and how many rows stand there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from livedata.model.row import Scalar
from livedata.rules.diagnosis.markup_pieces import (
    WantedTexts,
    address_tails,
    hide_unseen,
    join_words,
    pieces,
    script_strings,
)

RowTexts = frozenset[str]
"""The texts of a row that no other row has."""

SHORTEST: Final = 3
"""A shorter text is on any page."""


def rows_of_page(
    rows: Mapping[str, Sequence[Scalar]], pages: Sequence[int], number: int
) -> list[RowTexts]:
    """The texts of the rows that were read on page `number`; of all rows if that is not known.

    `rows` are those that are present, by key; `pages` has the page of each, in the order of keys.
    """
    keys = sorted(rows)
    # The pages have no keys of their own, so they fit only the rows that they were written for.
    placed = zip(keys, pages, strict=True) if len(keys) == len(pages) else ()
    there = {key for key, page in placed if page == number}
    texts = {key: _texts(row) for key, row in rows.items()}
    holders = Counter(text for own in texts.values() for text in own)
    known = (
        frozenset(text for text in texts[key] if holders[text] == 1)
        for key in keys
        if key in there or not there
    )
    return [own for own in known if own]


def count_rows(rows: Sequence[RowTexts], markup: str) -> tuple[int, int]:
    """The number of rows that stand on a page as a person sees it, and of those in scripts only."""
    if not rows:
        return 0, 0
    shown = hide_unseen(markup)
    wanted = WantedTexts(frozenset().union(*rows))
    seen = _among(wanted, pieces(shown, join_words(shown)))
    hidden = [own for own in rows if own.isdisjoint(seen)]
    scripted = _among(wanted, script_strings(markup)) if hidden else set()
    return len(rows) - len(hidden), sum(not own.isdisjoint(scripted) for own in hidden)


def _texts(row: Sequence[Scalar]) -> set[str]:
    """The texts of a row that may be looked for."""
    texts: set[str] = set()
    for value in row:
        if isinstance(value, str):
            texts |= address_tails(value)
    return {text for text in texts if len(text) >= SHORTEST}


def _among(wanted: WantedTexts, shown: Iterable[str]) -> set[str]:
    """The wanted texts that are pieces of a page, or ends of addresses on it."""
    return {text for piece in shown for text in wanted.among(piece)}
