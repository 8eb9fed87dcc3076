"""What a text leaves out or adds: the end of a title that is cut, a number that counts the list.

And what it would leave out if a selector could say so: the sign of a link to its own place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from livedata.extraction.cells import clean
from livedata.extraction.derived_names import HEADER, TERM, UNNUMBERED, UNNUMBERED_TERM
from livedata.extraction.lists.fields import SAMPLE, Field
from livedata.extraction.lists.prominence import LONGEST as LONGEST_TITLE
from livedata.extraction.lists.readings import Reading, tag_of
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.numbering import Numbered, follows, numbered, unnumbered

_WHOLE: Final = ("title", "aria-label", "alt")
"""The attributes that may have the whole of a text that is cut on the screen."""
_CUT: Final = re.compile(r"\s*(?:…|\.\.\.)$")
_COUNTED: Final = re.compile(r"[#№]?\s*(\d{1,6})\s*[.):]?(?:\s+(?P<rest>\S.*))?", re.DOTALL)
_PLACES: Final = re.compile(
    r"(?:#|no|nr|num|n°|№|s\.?no|rank|pos|position|place)\.?", re.IGNORECASE
)
"""The headers of cells that only count the rows; another one may be a number of the records."""
_SIGNS: Final = frozenset("¶§#🔗⚓")
_INNER: Final = 5
_LONGEST: Final = 1_000
_SHORTEST: Final = 10
_FEWEST: Final = 3
_CHAPTERS: Final = 5
_MOST: Final = 0.9
_DIFFERENT: Final = 0.5
"""Of names more than so many are another one: "1 kg, 2 kg, 3 kg" are none."""


def with_whole_text(survey: Survey, reading: Reading, fields: Sequence[Field]) -> Reading:
    """A text by the attribute that has it whole, if it is cut: "A Light in the ..."."""
    if reading.attribute is not None or not any(map(_CUT.search, reading.values.values())):
        return reading
    for field in (reading.field, *fields):
        for attribute in _WHOLE if field.elements.keys() >= reading.values.keys() else ():
            values = {
                record: clean(survey.page.attribute(survey.nodes[number], attribute) or "")
                for record, number in field.elements.items()
                if record in reading.values
            }
            if all(_is_whole(values[record], value) for record, value in reading.values.items()):
                return Reading(field, attribute, values)
    return reading


def partly_whole(survey: Survey, reading: Reading) -> str | None:
    """The attribute that has the cut texts whole, where only elements with a cut text have it."""
    cut = [record for record, value in reading.values.items() if _CUT.search(value)]
    if reading.attribute is not None or not cut:
        return None
    for attribute in _WHOLE:
        if all(
            _has_whole(survey, reading.field.elements[record], attribute, reading.values[record])
            for record in cut
        ):
            return attribute
    return None


def _has_whole(survey: Survey, number: int, attribute: str, shown: str) -> bool:
    near = (number, *survey.below(number)[:_INNER])
    said = (survey.page.attribute(survey.nodes[n], attribute) for n in near)
    return any(_is_whole(clean(value), shown) for value in said if value)


def sign_of_place(values: Sequence[str]) -> str | None:
    """The sign that most texts end with, such as ¶, if it is one for a link to its place."""
    ends = Counter(value[-1:] for value in values)
    sign, count = ends.most_common(1)[0]
    return sign if sign in _SIGNS and count > len(values) / 2 else None


def _is_whole(whole: str, shown: str) -> bool:
    stem = _CUT.sub("", shown)
    # It may be no longer: a site counts the characters of "&quot;", and cuts nothing.
    return whole == shown or (stem != shown and bool(whole) and whole.startswith(stem))


def without_counter(survey: Survey, reading: Reading, fields: Sequence[Field]) -> Reading:
    """A text without the number in front that counts the list.

    By an element that has it so, else as livedata derives it, if it is the name of its record.
    """
    if reading.attribute is not None and reading.attribute != TERM:
        return reading
    rests = _rests(reading.values)
    if not rests or not all(rests.values()):
        return reading
    for field in fields if reading.attribute is None else ():
        if field.elements.keys() >= reading.values.keys() and all(
            rest == _text(survey, field.elements[record]) for record, rest in rests.items()
        ):
            return Reading(field, None, rests)
    if not _are_names(rests) or any(
        unnumbered(reading.values[number]) != rests[number] for number in rests
    ):
        return reading
    return Reading(
        reading.field, UNNUMBERED if reading.attribute is None else UNNUMBERED_TERM, rests
    )


def _are_names(rests: Mapping[int, str]) -> bool:
    """Whether what stands behind numbers names things: not the unit of a size, nor prose."""
    short = sum(map(len, rests.values())) <= LONGEST_TITLE * len(rests)
    return short and len(set(rests.values())) > _DIFFERENT * len(rests)


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
    """What stands behind the number of each text, if they have one and count along.

    Nearly all have one; or some do, such as chapters among their sections, and miss no number.
    """
    counts = {record: counted for record, value in values.items() if (counted := _counted(value))}
    rests = {
        record: counts[record].rest if record in counts else value
        for record, value in values.items()
    }
    if len(counts) < max(_FEWEST, _MOST * len(values)):
        first = [counted.number for record, counted in counts.items() if record < SAMPLE // 2]
        chapters = len(first) >= _CHAPTERS and all(follows(*pair) for pair in pairwise(first))
        return rests if chapters else {}
    # The first records of a long list stand side by side, the others are from all over.
    beside = [record for record in counts if record + 1 in counts and record + 1 < SAMPLE // 2]
    along = sum(follows(counts[record].number, counts[record + 1].number) for record in beside)
    pairs = list(pairwise(each.number for each in counts.values()))
    rising = sum(before < after for before, after in pairs)
    if len(beside) < _FEWEST - 1 or along < _MOST * len(beside) or rising < _MOST * len(pairs):
        return {}
    return rests


def _counted(text: str) -> Numbered | None:
    match = _COUNTED.fullmatch(text)
    if match is not None:
        return Numbered((int(match[1]),), match["rest"] or "")
    return numbered(text)
