"""What is found on real pages does not get worse, on those that were put aside as on the others."""

from __future__ import annotations

import pytest

from tests.lists.gold import Half, every_page
from tests.lists.judge import judge
from tests.lists.shares import shares

# Both are asked of one look at each page, which takes most of the time.
pytestmark = pytest.mark.timed


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
def test_lists_on_real_pages_are_found_and_none_takes_two_seconds(
    half: Half, least: dict[str, int]
) -> None:
    judged = [judge(gold) for gold in every_page() if gold.half == half]
    measured = shares(judged)
    assert measured.lists == least["lists"]
    assert measured.hidden == 0, measured
    worse = {name: count for name, count in least.items() if getattr(measured, name) < count}
    assert worse == {}, measured
    assert {each.gold.name: each.seconds for each in judged if each.seconds > 2} == {}
