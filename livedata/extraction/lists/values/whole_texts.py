"""What a text leaves out or adds: the end of a title that is cut, a number that counts the list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from livedata.extraction.cells import clean
from livedata.extraction.lists.fields import Field
from livedata.extraction.lists.readings import Reading, tag_of
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.names import HEADER

_WHOLE: Final = ("title", "aria-label", "alt")
"""The attributes that may have the whole of a text that is cut on the screen."""
_CUT: Final = re.compile(r"\s*(?:…|\.\.\.)$")
_COUNTED: Final = re.compile(r"[#№]?\s*(\d{1,6})\s*[.):]?(?:\s+(?P<rest>\S.*))?", re.DOTALL)
_PLACES: Final = re.compile(
    r"(?:#|no|nr|num|n°|№|s\.?no|rank|pos|position|place)\.?", re.IGNORECASE
)
"""The headers of cells that only count the rows; another one may be a number of the records."""
_LONGEST: Final = 1_000
_SHORTEST: Final = 10
_FEWEST: Final = 3
_MOST: Final = 0.9


def with_whole_text(survey: Survey, one: Reading, fields: Sequence[Field]) -> Reading:
    """A text by the attribute that has it whole, if it is cut: "A Light in the ..."."""
    if one.attribute is not None or not any(map(_CUT.search, one.values.values())):
        return one
    for field in (one.field, *fields):
        for attribute in _WHOLE if field.elements.keys() >= one.values.keys() else ():
            values = {
                record: clean(survey.page.attribute(survey.nodes[number], attribute) or "")
                for record, number in field.elements.items()
                if record in one.values
            }
            if all(_is_whole(values[record], value) for record, value in one.values.items()):
                return Reading(field, attribute, values)
    return one


def _is_whole(whole: str, shown: str) -> bool:
    stem = _CUT.sub("", shown)
    return whole == shown or (stem != shown and len(whole) > len(stem) and whole.startswith(stem))


def without_counter(survey: Survey, one: Reading, fields: Sequence[Field]) -> Reading:
    """A text without the number in front that counts the list, if an element has it so."""
    rests = _rests(one.values) if one.attribute is None else {}
    if not rests or not all(rests.values()):
        return one
    for field in fields:
        if field.elements.keys() >= one.values.keys() and all(
            rest == _text(survey, field.elements[record]) for record, rest in rests.items()
        ):
            return Reading(field, None, rests)
    return one


def counters(survey: Survey, fields: Sequence[Field]) -> list[Field]:
    """The fields that say nothing but numbers that count the list: 1., 2., 3."""
    return [field for field in fields if field.selector and _is_counter(survey, field)]


def _is_counter(survey: Survey, field: Field) -> bool:
    numbers = field.elements.values()
    if any(survey.held(survey.texts, number) > _SHORTEST for number in numbers):
        return False
    rests = _rests(
        {
            record: clean(survey.page.text(survey.nodes[n], _LONGEST))
            for record, n in field.elements.items()
        }
    )
    if not rests or any(rests.values()) or tag_of(survey, field) == "a":
        return False
    headers = {survey.derived.get(number, ("", ""))[1] for number in numbers}
    return HEADER not in field.selector or all(map(_PLACES.fullmatch, headers))


def _text(survey: Survey, number: int) -> str:
    return clean(survey.page.text(survey.nodes[number], _LONGEST))


def _rests(values: Mapping[int, str]) -> dict[int, str]:
    """What stands behind the number of each text, if all begin with one and count along."""
    matches = {record: _COUNTED.fullmatch(value) for record, value in values.items()}
    numbers = [int(match[1]) for match in matches.values() if match is not None]
    if len(numbers) < max(_FEWEST, len(values)):
        return {}
    steps = [after - before for before, after in pairwise(numbers)]
    if steps.count(1) < _MOST * len(steps):
        return {}
    return {record: match["rest"] or "" for record, match in matches.items() if match is not None}
