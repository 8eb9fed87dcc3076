"""The parts of records: what stands in the same place of each, and what is a record of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

from livedata.extraction.lists.survey import Survey

MOST_BELOW: Final = 400
"""So many elements of a record are looked at."""
_MOST_ALIKE: Final = 30
_SIDE: Final = 8
_PARTS: Final = 0.15
"""Parts are so much more like those in their place than like those beside them."""
_RICH: Final = 4
"""A table cell that is an item has so much in it."""
_LOOKED_AT: Final = 30


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
            label = survey.signatures[number].name
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
        tag = survey.signatures[number].tag
        if survey.own_texts[number]:
            said = node.text(deep=False, strip=True)
            seen["text"].add(f"{said[:80]}{said[-80:]}")
        if tag in {"a", "img"}:
            seen["link"].add(str(node.attributes.get("href" if tag == "a" else "src")))
    fill = len(part.elements) / records
    return sum(fill for values in seen.values() if len(values) > 1)


def are_items(survey: Survey, inner: Sequence[Sequence[int]]) -> bool:
    """Whether what stands side by side is alike: items, and not the parts of one.

    Parts resemble those that stand in the same place of other records: the second ones are all
    titles, the third ones all begin with "Price:".
    """
    signed = [[_signature(survey, number) for number in numbers[:_SIDE]] for numbers in inner]
    cells = survey.signatures[next(number for numbers in inner for number in numbers)].tag == "td"
    sizes = [len(signature) for row in signed for signature in row]
    if cells and sum(sizes) < _RICH * len(sizes):
        return False
    beside = [_overlap(left, right) for row in signed for left, right in pairwise(row)]
    across = [
        _overlap(left, right)
        for row, next_row in pairwise(signed)
        for left, right in zip(row, next_row, strict=False)
    ]
    return _mean(across) - _mean(beside) < _PARTS


def _signature(survey: Survey, number: int) -> frozenset[str]:
    """What stands in an element, and the first words there."""
    numbers = range(number, min(survey.ends[number], number + _LOOKED_AT))
    first = next((n for n in numbers if survey.own_texts[n]), None)
    said = "" if first is None else survey.nodes[first].text(deep=False, strip=True)[:40]
    return frozenset([f"'{said}'", *(survey.signatures[n].name for n in numbers)])


def _overlap(signature: frozenset[str], other: frozenset[str]) -> float:
    return len(signature & other) / len(signature | other)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0
