"""The pieces of a page that a model is shown one at a time: rules 14.4."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from msgspec import Struct

LONGEST = 16_000
"""Characters of a window."""
OVERLAP = 600
"""Characters that two windows share, since what a cut falls into is lost."""
SHORTEST = 500
"""A window of fewer characters is not halved: 25 rows of 20 characters each are as much."""
SPARSE = 2_000
"""A window of fewer characters is halved only for an answer that is full."""
PART = 62 * 1024
"""Characters of a part: its windows are those that begin in them, and are begun together."""


class Window(Struct, frozen=True, order=True):
    """A piece of a page's text, from `start` up to `end`."""

    start: int
    end: int

    def label(self, text: str) -> str:
        """How the window is recorded; "" for a whole page."""
        whole = (self.start, self.end) == (0, len(text))
        return "" if whole else f"{self.start}-{self.end}"


def windows(text: str) -> list[Window]:
    """The windows of a page's text, each up to the end of a line if it has one."""
    cut: list[Window] = []
    start = 0
    while len(text) - start > LONGEST:
        end = _line_end(text, start + OVERLAP, start + LONGEST)
        cut.append(Window(start, end))
        start = _line_start(text, end, OVERLAP)
    return [*cut, Window(start, len(text))]


def parts(text: str) -> list[list[Window]]:
    """The windows of a page's text, part by part."""
    cut = [(window.start // PART, window) for window in windows(text)]
    return [[window for _, window in part] for _, part in groupby(cut, key=itemgetter(0))]


def halves(text: str, window: Window) -> list[Window]:
    """The two halves of a window; none if it is too short."""
    length = window.end - window.start
    if length < SHORTEST:
        return []
    middle = _line_end(text, window.start + length // 4, window.start + length // 2)
    # A share of the length, so that the halves of halves become shorter too.
    start = _line_start(text, middle, min(OVERLAP, length // 8))
    return [Window(window.start, middle), Window(start, window.end)]


def _line_end(text: str, start: int, end: int) -> int:
    """The last place after a line between two places; the second one if there is none."""
    return text.rfind("\n", start, end) + 1 or end


def _line_start(text: str, end: int, overlap: int) -> int:
    """The first start of a line in what a window shares with the next one."""
    line_end = text.find("\n", end - overlap, end - 1)
    return end - overlap if line_end < 0 else line_end + 1
