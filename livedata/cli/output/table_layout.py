"""How wide the columns of a table are on a terminal, and which of them have no place on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
SHORT = 20
"""What is no longer is never cut: a status, a number, a moment, the end of an id."""

LEAST = 12
"""Longer texts are cut down to this much, and their headings too, before a column is left out."""

FIRM = {"row", "key"}
"""Columns by which commands name a row: cut only where one alone would fill the terminal."""


@dataclass(frozen=True, slots=True)
class LayoutColumn:
    """One column of a table: its heading, and how wide that and its widest value are."""

    heading: str
    heading_width: int
    value_width: int

    def whole(self) -> int:
        """What it would like to have."""
        return max(self.heading_width, self.value_width)

    def least(self, width: int) -> int:
        """What it must have on a terminal of `width`."""
        if self.heading in FIRM:
            return min(self.whole(), max(width // 2, width - SHORT))
        value = self.value_width if self.value_width <= SHORT else LEAST
        return max(value, min(self.heading_width, LEAST))


def fit_widths(columns: Sequence[LayoutColumn], width: int) -> list[int]:
    """How wide the columns from the left are on a terminal of `width`; the rest has no place.

    The longest are cut first, and none below what it must have.
    """
    count = len(columns)
    while count > 1 and _total([one.least(width) for one in columns[:count]]) > width:
        count -= 1
    kept = columns[:count]
    least = [one.least(width) for one in kept]
    widths = [max(min(one.whole(), width), low) for one, low in zip(kept, least, strict=True)]
    while _total(widths) > width:
        longest = max(range(count), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[longest] <= least[longest]:
            break
        widths[longest] -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
