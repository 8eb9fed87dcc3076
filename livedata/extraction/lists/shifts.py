"""Columns by their place that read another part where one more element stands before it.

The second of equal siblings is the author in one record, and in the next one, which has a date
before it, that date. Values that are written alike show it: "by Ann", "3 comments", "12.50 €". So
do the names that the page writes before them: "Status:" here, and "Default:" there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.extraction.derived_names import INDEX
from livedata.extraction.lists.column_names import label_before
from livedata.extraction.lists.fields import Field
from livedata.extraction.lists.identity.natures import is_price
from livedata.extraction.lists.readings import Reading
from livedata.extraction.lists.survey import Survey
from livedata.extraction.selectors import parse
from livedata.extraction.text import names

_NUMBER: Final = re.compile(r"\d(?:[\d.,:/' -]*\d)?")
_WORD: Final = re.compile(r"[^\W\d_]+")
_MOST: Final = 0.5
_LEAST: Final = 2
_LONGEST: Final = 60
_WORDS: Final = 3
_TERMED: Final = names("dt dd")
"""The terms of a list are records of their own, and its descriptions are read by them."""
_ASKED: Final = 3
"""What the page names in none of so many records it names in no other one."""


class _Placed(Struct, frozen=True, eq=False):
    """A text by its place: how its values are written, how most are, and what stands around it.

    `around` has by record the parent and how many elements of the same tag are in it; `count` is
    how many most records have. `labels` are what the page calls each value.
    """

    reading: Reading
    forms: Mapping[int, str]
    usual: str
    around: Mapping[int, tuple[int, int]]
    count: int
    labels: Mapping[int, str]


def shifted(survey: Survey, readings: Sequence[Reading]) -> list[Field]:
    """The fields by a place at which another part stands in some records."""
    placed = [_placed(survey, each) for each in readings if each.is_text and _is_by_place(each)]
    return [
        each.reading.field
        for each in placed
        if _is_now_a_link(survey, each)
        or any(
            _are_exchanged(each, other)
            or _is_called_otherwise(each, other)
            or _stands_before(each, other)
            for other in placed
            if other is not each
        )
    ]


def _is_by_place(reading: Reading) -> bool:
    """Whether a selector names the first of its elements, or the n-th, and nothing they have."""
    if not reading.field.selector:
        return False
    last = parse(reading.field.selector).steps[-1].compound
    named = any(test.name != INDEX for test in last.attributes)
    return not (named or last.classes or last.ids)


def _placed(survey: Survey, reading: Reading) -> _Placed:
    forms = {record: _form(value) for record, value in reading.values.items()}
    around = {record: _around(survey, reading.field.elements[record]) for record in forms}
    usual, most = Counter(forms.values()).most_common(1)[0]
    counts = Counter(count for _, count in around.values())
    usual = usual if most > _MOST * len(forms) else ""
    count, _ = counts.most_common(1)[0]
    return _Placed(reading, forms, usual, around, count, _labels(survey, reading))


def _labels(survey: Survey, reading: Reading) -> dict[int, str]:
    """What the page calls the value of each record, where it does."""
    labels: dict[int, str] = {}
    for asked, record in enumerate(reading.values):
        if asked == _ASKED and not labels:
            break
        number = reading.field.elements[record]
        near = {survey.signatures[each].tag for each in (number, survey.parents[number])}
        label = label_before(survey.page, survey.nodes[number])
        if label and near.isdisjoint(_TERMED):
            labels[record] = label
    return labels


def _around(survey: Survey, number: int) -> tuple[int, int]:
    parent, tag = survey.parents[number], survey.signatures[number].tag
    below = survey.below(parent)
    count = sum(survey.parents[n] == parent and survey.signatures[n].tag == tag for n in below)
    return parent, count


def _is_now_a_link(survey: Survey, placed: _Placed) -> bool:
    """Whether all that stands there is a link in some records and none in others.

    As in the last of the elements beside it, where there is one fewer.
    """
    linked: dict[bool, list[int]] = {True: [], False: []}
    for record, number in placed.reading.field.elements.items():
        if record in placed.around and survey.signatures[number].tag != "a":
            words = survey.held(survey.texts, number)
            linked[survey.held(survey.linked, number) == words > 0].append(record)
    fewer, more = sorted(linked.values(), key=len)
    if len(fewer) < _LEAST:
        return False
    usual, _ = Counter(placed.around[record][1] for record in more).most_common(1)[0]
    return all(placed.around[record][1] != usual for record in fewer)


def _are_exchanged(placed: _Placed, other: _Placed) -> bool:
    """Whether one reads what the other one usually does, or the other what it does itself.

    In records that have more elements there than most, or fewer.
    """
    if placed.usual == other.usual:
        return False
    moved = [
        record
        for record in placed.forms.keys() & other.forms.keys()
        if placed.around[record][0] == other.around[record][0]
        and placed.around[record][1] != placed.count
    ]
    reads = sum(bool(other.usual) and placed.forms[record] == other.usual for record in moved)
    gives = sum(
        bool(placed.usual) and other.forms[record] == placed.usual != placed.forms[record]
        for record in moved
    )
    return max(reads, gives) >= _LEAST


def _is_called_otherwise(placed: _Placed, other: _Placed) -> bool:
    """Whether the page calls this one now so, now so, and the other one in some record as this one.

    Two names in one record are those of two parts.
    """
    called = {*placed.labels.values()}
    return len(called) > 1 and any(
        other.labels.get(record, label) in called - {label}
        for record, label in placed.labels.items()
    )


def _stands_before(placed: _Placed, other: _Placed) -> bool:
    """Whether the other one reads what this one usually does in records that lack this place.

    As the third of the elements there is what else the fourth is.
    """
    if not placed.usual or placed.usual == other.usual:
        return False
    both = placed.around.keys() & other.around.keys()
    if not both or any(placed.around[each][0] != other.around[each][0] for each in both):
        return False
    lacking = other.forms.keys() - placed.forms.keys()
    return (
        sum(
            other.forms[record] == placed.usual and other.around[record][1] < placed.count
            for record in lacking
        )
        >= _LEAST
    )


def _form(value: str) -> str:
    """How a value is written: by its first word, or as a number of something; "" if by neither."""
    if is_price(value):
        return "€"
    words = _NUMBER.sub("0", value.casefold()).split()
    if len(value) > _LONGEST or not words or (len(words) == 1 and words[0] != "0"):
        return ""
    if _WORD.fullmatch(words[0].rstrip(":")):
        return words[0]
    if words[0] == words[-1] == "0":  # a date, with its month between them
        return "0"
    return " ".join(words).rstrip("s") if len(words) <= _WORDS else ""
