"""Whether what stands side by side are items of a list, or the parts of one item."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from livedata.extraction.lists.survey import Survey

_SIDE: Final = 8
_PARTS: Final = 0.15
"""Parts are so much more like those in their place than like those beside them."""
_RICH: Final = 4
"""A table cell that is an item has so much in it."""
_LOOKED_AT: Final = 30


def are_items(survey: Survey, inner: Sequence[Sequence[int]]) -> bool:
    """Whether what stands side by side is alike: items, and not the parts of one.

    Parts resemble those that stand in the same place of other records: the second ones are all
    titles, the third ones all begin with "Price:".
    """
    signed = [[_signature(survey, number) for number in numbers[:_SIDE]] for numbers in inner]
    cells = survey.looks[next(number for numbers in inner for number in numbers)].tag == "td"
    sizes = [len(signature) for row in signed for signature in row]
    if cells and sum(sizes) < _RICH * len(sizes):
        return False
    beside = [_overlap(one, other) for row in signed for one, other in pairwise(row)]
    across = [
        _overlap(one, other)
        for row, next_row in pairwise(signed)
        for one, other in zip(row, next_row, strict=False)
    ]
    return _mean(across) - _mean(beside) < _PARTS


def _signature(survey: Survey, number: int) -> frozenset[str]:
    """What stands in an element, and the first words there."""
    numbers = range(number, min(survey.ends[number], number + _LOOKED_AT))
    first = next((n for n in numbers if survey.own_texts[n]), None)
    said = "" if first is None else survey.nodes[first].text(deep=False, strip=True)[:40]
    return frozenset([f"'{said}'", *(survey.looks[n].name for n in numbers)])


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares) if shares else 0.0
