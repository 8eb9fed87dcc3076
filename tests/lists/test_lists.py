"""What is found on real pages does not get worse, on those that were put aside as on the others."""

from __future__ import annotations

import pytest

from tests.lists.gold import Half, every_page
from tests.lists.judge import judge
from tests.lists.shares import shares


@pytest.mark.parametrize(
    ("half", "lists", "first", "seen", "exact", "key", "following", "none"),
    [("tuned", 57, 49, 55, 47, 43, 47, 7), ("aside", 37, 31, 36, 26, 25, 30, 7)],
)
def test_lists_on_real_pages_are_found(
    half: Half,
    lists: int,
    first: int,
    seen: int,
    exact: int,
    key: int,
    following: int,
    none: int,
) -> None:
    judged = [judge(gold) for gold in every_page() if gold.half == half]
    found = shares(judged)
    assert found.lists == lists
    assert found.first >= first, found
    assert found.seen >= seen, found
    assert found.exact >= exact, found
    assert found.key >= key, found
    assert found.next >= following, found
    assert found.none >= none, found


@pytest.mark.timed
def test_no_real_page_takes_more_than_two_seconds() -> None:
    slow = {each.gold.name: each.seconds for each in map(judge, every_page()) if each.seconds > 2}
    assert slow == {}
