"""The parts of records: what stands at the same place in each of them.

A place is the way down from a record by the names of the elements on it. Of equal siblings each
has a place of its own, by its number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.extraction.lists.survey import Survey

MOST_BELOW: Final = 400
"""So many elements of a record are looked at."""
_MOST_ALIKE: Final = 30


class Part(Struct, frozen=True, eq=False):
    """A place within records: the elements there, by the number of their record.

    `above` is the part around it, None for the record itself. `label` names the element among its
    siblings, `index` says which of those of one label it is, from 1.
    """

    above: Part | None
    label: str
    index: int
    elements: dict[int, int]


def parts(survey: Survey, members: Sequence[int]) -> list[Part]:
    """The parts of the records, the records themselves first."""
    whole = Part(None, "", 1, dict(enumerate(members)))
    made: dict[tuple[int, str, int], Part] = {}
    listed = [whole]
    for record, member in enumerate(members):
        places: dict[int, Part] = {member: whole}
        counts: defaultdict[tuple[int, str], int] = defaultdict(int)
        for number in survey.below(member)[:MOST_BELOW]:
            parent = survey.parents[number]
            above = places.get(parent)
            if above is None:
                continue
            label = survey.looks[number].name
            counts[parent, label] += 1
            index = counts[parent, label]
            if index > _MOST_ALIKE:
                continue
            key = (id(above), label, index)
            part = made.get(key)
            if part is None:
                part = made[key] = Part(above, label, index, {})
                listed.append(part)
            part.elements[record] = number
            places[number] = part
    return listed


def fills(all_parts: Sequence[Part], records: int) -> Mapping[Part, float]:
    """In which share of the records each part is there."""
    return {part: len(part.elements) / records for part in all_parts}
