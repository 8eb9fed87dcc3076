"""A page is cut into windows at line ends, and nothing is lost in a cut: rules 14.4."""

from __future__ import annotations

from itertools import pairwise

import pytest

from livedata.research.asking.windows import LONGEST, OVERLAP, SHORTEST, Window, halves, windows

LINES = "".join(f"line {number} of a long page with rows\n" for number in range(2000))


@pytest.mark.parametrize("text", ["", "short", LINES, "x" * 40_000, LINES + "y" * 20_000])
def test_windows_cover_a_page_and_overlap(text: str) -> None:
    cut = windows(text)
    assert (cut[0].start, cut[-1].end) == (0, len(text))
    assert all(window.end - window.start <= LONGEST for window in cut)
    for before, after in pairwise(cut):
        assert 0 < before.end - after.start <= OVERLAP
        assert before.start < after.start


def test_windows_begin_and_end_with_lines() -> None:
    cut = windows(LINES)
    assert all(LINES[window.end - 1] == "\n" for window in cut)
    assert all(LINES[window.start :].startswith("line ") for window in cut)


@pytest.mark.parametrize("text", [LINES[:16_000], "x" * 16_000, "a\n" + "x" * 15_998])
def test_halves_of_halves_become_too_short_to_be_halved(text: str) -> None:
    waiting, asked = [Window(0, len(text))], 0
    while waiting:
        window = waiting.pop()
        both = halves(text, window)
        asked += 1
        assert both or window.end - window.start < SHORTEST
        if both:
            first, second = both
            assert (first.start, second.end) == (window.start, window.end)
            assert second.start < first.end
        waiting += both
    assert asked < 256


def test_a_whole_page_has_no_label_and_a_piece_has_its_place() -> None:
    assert Window(0, 5).label("12345") == ""
    assert Window(0, 3).label("12345") == "0-3"
