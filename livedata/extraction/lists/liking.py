"""Lists by example: the groups of which one record holds given texts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from livedata.extraction.cells import clean
from livedata.extraction.lists.groups import Group
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import text

_LONGEST: Final = 2_000
_MOST: Final = 200


def holding(survey: Survey, all_groups: Sequence[Group], like: Sequence[str]) -> list[Group]:
    """The groups of which some member holds all of the texts; all groups if there are none."""
    if not like:
        return list(all_groups)
    places = [_places(survey, clean(wanted).casefold()) for wanted in like]
    return [group for group in all_groups if _holds(survey, group, places)]


def _places(survey: Survey, wanted: str) -> list[int]:
    """The inmost elements whose text, or one of whose attributes, has a text in it."""
    places: list[int] = []
    for number, node in enumerate(survey.nodes):
        held = survey.held(survey.texts, number)
        inside = len(wanted) <= held + 50 <= _LONGEST and wanted in text(node, _LONGEST).casefold()
        if inside or any(wanted in (value or "").casefold() for value in node.attributes.values()):
            # Children come after their parents: an element that holds one that holds it is no place.
            while places and survey.ends[places[-1]] >= survey.ends[number] and inside:
                places.pop()
            places.append(number)
        if len(places) >= _MOST:
            break
    return places


def _holds(survey: Survey, group: Group, places: Sequence[Sequence[int]]) -> bool:
    members: list[set[int]] = []
    for numbers in places:
        held = set()
        for number in numbers:
            at = bisect_right(group.members, number) - 1
            if at >= 0 and number < survey.ends[group.members[at]]:
                held.add(group.members[at])
        members.append(held)
    return bool(set.intersection(*members))
