"""What is found on real pages does not get worse, on those that were put aside as on the others."""

from __future__ import annotations

from functools import cache

import pytest

from tests.lists.gold import Half, every_page
from tests.lists.judge import Judged, judge
from tests.lists.shares import shares


@cache
def judged(half: Half) -> list[Judged]:
    """What is found on each page of a half: one process judges the one, another the other."""
    return [judge(gold) for gold in every_page() if gold.half == half]


@pytest.mark.parametrize(
    ("half", "least"),
    [
        (
            "tuned",
            {"lists": 57, "first": 52, "seen": 56, "exact": 51, "key": 56, "required": 56}
            | {"next": 49, "none": 8, "told": 57},
        ),
        (
            "aside",
            {"lists": 36, "first": 31, "seen": 35, "exact": 31, "key": 33, "required": 35}
            | {"next": 30, "none": 11, "told": 36},
        ),
    ],
)
def test_lists_on_real_pages_are_found(half: Half, least: dict[str, int]) -> None:
    measured = shares(judged(half))
    assert measured.lists == least["lists"]
    assert measured.hidden == 0, measured
    worse = {name: count for name, count in least.items() if getattr(measured, name) < count}
    assert worse == {}, measured


@pytest.mark.timed
def test_no_real_page_takes_more_than_two_seconds() -> None:
    both = judged("tuned") + judged("aside")
    slow = {each.gold.name: each.seconds for each in both if each.seconds > 2}
    assert slow == {}
