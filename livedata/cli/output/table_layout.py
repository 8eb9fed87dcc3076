"""Decides the widths of a table's columns on a terminal, and which of them have no place on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = 2
SHORT = 20
"""Texts up to this length are never cut: a status, a number, a moment, the end of an id."""

LEAST = 12
"""Longer texts and their headings are cut down to this before a column is left out."""

LABEL = 30
"""The percentage of a terminal's width that the first long text has at least."""

FIRM = {"row", "key"}
"""Columns by which commands name a row: cut in the middle, for the ends of addresses differ."""


class LayoutColumn(Struct, frozen=True):
    """One column of a table: its heading, the width of that, and the width of its widest value."""

    heading: str
    heading_width: int
    value_width: int
    distinct_width: int = 0
    """From this width on, values that differ still do when they are cut; 0 if nobody asks."""

    def whole(self) -> int:
        """Return the width at which nothing of it is cut."""
        return max(self.heading_width, self.value_width)

    def least(self) -> int:
        """Return the smallest width that it takes."""
        if self.heading in FIRM:
            return min(self.whole(), max(SHORT, self.distinct_width))
        value = self.value_width if self.value_width <= SHORT else LEAST
        return max(value, min(self.heading_width, LEAST))


def fit_widths(columns: Sequence[LayoutColumn], width: int) -> list[int]:
    """Return the widths of the columns from the left; the others have no place on the terminal.

    The widest column is cut first, and none below the smallest width that it takes.
    """
    least = _least_widths(columns, width)
    # Columns go from the right: the first ones say which thing a line is about.
    count = len(columns)
    while count > 1 and _total(least[:count]) > width:
        count -= 1
    kept, least = columns[:count], least[:count]
    widths = [max(min(column.whole(), width), low) for column, low in zip(kept, least, strict=True)]
    while _total(widths) > width:
        # A column that can still be cut comes before a wider one that cannot.
        widest = max(range(count), key=lambda at: (widths[at] > least[at], widths[at]))
        if widths[widest] <= least[widest]:
            break
        # By one character at a time long columns end at about the same width.
        widths[widest] -= 1
    return widths


def _least_widths(columns: Sequence[LayoutColumn], width: int) -> list[int]:
    least = [column.least() for column in columns]
    # The first long text says most of what a line is about: it stays readable if there is room.
    for at, column in enumerate(columns):
        if column.heading not in FIRM and column.value_width > SHORT:
            readable = max(least[at], min(column.whole(), width * LABEL // 100))
            if _total([*least[:at], readable]) <= width:
                least[at] = readable
            break
    return least


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
