"""The columns of a list: what its fields say that differs from record to record, with a name each.

A text that is the same in all records says nothing of any, and is left out: a button, an icon, the
word "Price:". If it stands before a value, it names it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell
from livedata.extraction.lists.fields import Field
from livedata.extraction.lists.naming import Naming
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.names import TERM
from livedata.extraction.text import APART, names, text
from livedata.model.recipe import Read

MOST: Final = 16
"""A proposal has at most so many columns."""
LONGEST: Final = 1_000
_NUMBERS: Final = 0.95
_BESIDE_A_NUMBER: Final = 12
"""The characters around the digits of what is a number, and not a text that has one."""
_UNITS: Final = 4
"""So many different units may stand around the numbers of a column."""
_TITLES: Final = names("h1 h2 h3 h4 h5 h6 time")
_CODE: Final = re.compile(r"(?<![\d.,])0\d|\d{9}")
_DIGITS: Final = re.compile(r"[\d.,' \u00a0\u202f]+")
_WORD: Final = re.compile(r"\w")
_ATTRIBUTES: Final[Mapping[str, tuple[str, ...]]] = {
    "a": ("href",),
    "area": ("href",),
    "img": ("src", "data-src", "data-original", "data-lazy-src"),
    "time": ("datetime",),
    "abbr": ("title",),
    "meta": ("content",),
    "link": ("href",),
    "data": ("value",),
}


class Column(Struct, frozen=True):
    """A column: where it is read, what it is called, and its values by the number of the record.

    `selector` is empty for the record itself, `attribute` is None for its text. `kind` is string or
    number.
    """

    name: str
    selector: str
    attribute: str | None
    kind: str
    values: Mapping[int, str]
    label: str | None = None

    @property
    def read(self) -> Read:
        """The read of the column, as a source has it."""
        if self.attribute is None:
            return Read("text", self.selector or None, None)
        return Read("attribute", self.selector or None, self.attribute)


class _Reading(Struct, frozen=True):
    """What one field gives: its text, or one of its attributes."""

    field: Field
    attribute: str | None
    values: Mapping[int, str]


def columns(survey: Survey, fields: Sequence[Field], records: int) -> list[Column]:
    """The columns that the fields of so many records give, in the order of the page."""
    readings = _different(list(_readings(survey, fields, records)))
    readings = sorted(readings, key=lambda one: -_worth(one, records))[:MOST]
    ordered = list(_all_in_order(fields, readings))
    naming = Naming(survey, [one.field for one in ordered])
    made = []
    for one in ordered:
        name, label = naming.name(one.field, one.attribute, list(one.values.values()))
        titled = survey.looks[next(iter(one.field.elements.values()))].tag in _TITLES
        values = list(one.values.values())
        kind = "string" if titled or one.attribute is not None else _kind(values)
        made.append(Column(name, one.field.selector, one.attribute, kind, one.values, label))
    return made


def _all_in_order(fields: Sequence[Field], readings: Sequence[_Reading]) -> Iterator[_Reading]:
    for field in fields:
        yield from (one for one in readings if one.field is field)


def _worth(one: _Reading, records: int) -> float:
    """How much a person may miss a column: one that is filled, differs, and is easy to name."""
    different = len(set(one.values.values())) / len(one.values)
    return len(one.values) / records + 0.5 * different - 0.15 * one.field.cost


def _readings(survey: Survey, fields: Sequence[Field], records: int) -> Iterator[_Reading]:
    """What differs from record to record, texts that lie within other such texts left out."""
    texts: set[int] = set()
    for field in fields:
        tags = Counter(survey.looks[number].tag for number in field.elements.values())
        tag = tags.most_common(1)[0][0]
        inside = sum(any(up in texts for up in survey.above(n)) for n in field.elements.values())
        within = inside > 0.5 * len(field.elements)
        if _says_something(survey, field) and not within:
            values = _texts(survey, field)
            if _differ(values, records):
                yield _Reading(field, None, values)
                if tag not in APART or _is_leaf(survey, field):
                    texts.update(field.elements.values())
        elif tag == "a" and _says_something(survey, field):
            values = _texts(survey, field)
            if _differ(values, records):
                yield _Reading(field, None, values)
        for attribute in _attributes(survey, field, tag):
            values = _attribute_values(survey, field, attribute)
            if _differ(values, records):
                yield _Reading(field, attribute, values)
                break


def _attributes(survey: Survey, field: Field, tag: str) -> Iterator[str]:
    yield from _ATTRIBUTES.get(tag, ())
    look = survey.looks[next(iter(field.elements.values()))]
    if not field.selector:
        yield from (*look.data, "id", *([TERM] if look.tag == "dd" else ()))


def _says_something(survey: Survey, field: Field) -> bool:
    """Whether its elements have a text of their own, or are what only one text stands in."""
    own = sum(survey.own_texts[number] > 0 for number in field.elements.values())
    return own >= 0.5 * len(field.elements) or _is_leaf(survey, field)


def _is_leaf(survey: Survey, field: Field) -> bool:
    """Whether nothing in its elements stands apart: their text is one line."""
    elements = list(field.elements.values())[:20]
    leaves = sum(
        survey.ends[n] - n < 40 and not any(survey.looks[i].tag in APART for i in survey.below(n))
        for n in elements
    )
    return bool(field.selector) and leaves >= 0.8 * len(elements)


def _texts(survey: Survey, field: Field) -> dict[int, str]:
    read = ((record, clean(text(survey.nodes[n], LONGEST))) for record, n in field.elements.items())
    return {record: value for record, value in read if value}


def _attribute_values(survey: Survey, field: Field, attribute: str) -> dict[int, str]:
    page = survey.page
    read = (
        (record, page.attribute(survey.nodes[number], attribute) or "")
        for record, number in field.elements.items()
    )
    return {
        record: value
        for record, value in read
        if value and not value.startswith(("javascript:", "data:")) and value[:1] != "#"
    }


def _differ(values: Mapping[int, str], records: int) -> bool:
    """Whether the values tell records apart, and say more than signs."""
    if len(values) < 0.2 * records or len(set(values.values())) < 2:
        return False
    return sum(bool(_WORD.search(value)) for value in values.values()) > 0.5 * len(values)


def _different(readings: Sequence[_Reading]) -> list[_Reading]:
    """Each column once: of equal ones the one that is the cheapest to name."""
    kept: list[_Reading] = []
    for one in sorted(readings, key=lambda one: one.field.cost):
        if not any(_equal(one.values, other.values) for other in kept):
            kept.append(one)
    return kept


def _equal(one: Mapping[int, str], other: Mapping[int, str]) -> bool:
    both = one.keys() & other.keys()
    if len(both) < 0.9 * max(len(one), 1):
        return False
    return sum(one[record] == other[record] for record in both) >= 0.97 * len(both)


def _kind(values: Sequence[str]) -> str:
    """The type of a column: a number if all but few are one, with the same words around them."""
    numbers = sum(_is_number(value) for value in values)
    around = {clean(_DIGITS.sub(" ", value)).strip("+-−~≈ ").rstrip("s") for value in values}
    return "number" if numbers >= _NUMBERS * len(values) and len(around) <= _UNITS else "string"


def _is_number(value: str) -> bool:
    if len(value) > 60 or _CODE.search(value):
        return False
    beside = len(_DIGITS.sub("", value))
    return beside <= _BESIDE_A_NUMBER and read_cell(value, "number").value is not None
