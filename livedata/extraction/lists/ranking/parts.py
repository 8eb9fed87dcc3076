"""The parts of records: what stands in the same place of each, and what may be read there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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


def slot(survey: Survey, part: Part, records: int) -> float:
    """How many cells a part may give: its share of records for a text that differs, and a link."""
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for number in part.elements.values():
        node = survey.nodes[number]
        tag = survey.looks[number].tag
        if survey.own_texts[number]:
            said = node.text(deep=False, strip=True)
            seen["text"].add(f"{said[:80]}{said[-80:]}")
        if tag in {"a", "img"}:
            seen["link"].add(str(node.attributes.get("href" if tag == "a" else "src")))
    fill = len(part.elements) / records
    return sum(fill for values in seen.values() if len(values) > 1)
