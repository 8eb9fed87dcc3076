"""The columns of a list: what its fields say, each with a name and a type."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell
from livedata.extraction.derived_names import TERM, UNNUMBERED, UNNUMBERED_TERM
from livedata.extraction.lists.column_names import Naming
from livedata.extraction.lists.fields import CELLS, MOST_BELOW, Field
from livedata.extraction.lists.identity.addresses import number_sections
from livedata.extraction.lists.identity.natures import is_code, is_price
from livedata.extraction.lists.prominence import prominent
from livedata.extraction.lists.readings import Reading, distinct, tag_of
from livedata.extraction.lists.survey import Survey
from livedata.extraction.lists.whole_texts import (
    partly_whole,
    sign_of_place,
    with_whole_text,
    without_counter,
)
from livedata.extraction.text import names
from livedata.model.recipe import Read

MOST: Final = 16
"""A proposal has at most so many columns."""
_NUMBERS: Final = 0.95
_BESIDE_A_NUMBER: Final = 12
"""The characters around the digits of what is a number, and not a text that has one."""
_UNITS: Final = 4
"""So many different units may stand around the numbers of a column."""
_WORD: Final = re.compile(r"[^\W\d_]{2,}")
_TITLES: Final = names("h1 h2 h3 h4 h5 h6 time")
_CODE: Final = re.compile(r"(?<![\d.,])0\d|\d{9}")
_NAMED: Final = re.compile(r"\W*(?:[^\W\d_]{4,}|[\u0590-\uffff]{2,})[^:\d]*\d")
_DIGITED: Final = re.compile(r"\D{0,20}\d{3,}")
_SEVERAL: Final = names("p dt")
_DIGITS: Final = re.compile(r"[\d.,' \u00a0\u202f]+")


class ListColumn(Struct, frozen=True):
    """A column: where it is read, what it is called, and its values by the number of the record.

    `selector` is empty for the record itself, `attribute` is None for its text. `kind` is string or
    number. `main` says that its records are known by it: it is their link, title or id.
    `sections` says that its addresses number the sections of a text that the page is one of.
    `whole_in` is the attribute that has its texts whole where they are cut, and only these. `sign`
    is what they end with, if it stands for a link to their own place. `goes_on` is in how many
    records a text is the first of several paragraphs or terms, of which no column has the others.
    """

    name: str
    selector: str
    attribute: str | None
    kind: str
    values: Mapping[int, str]
    label: str | None = None
    main: bool = False
    sections: bool = False
    whole_in: str | None = None
    sign: str | None = None
    goes_on: int = 0

    @property
    def is_text(self) -> bool:
        """Whether it is what a person sees, whole or without the number in front."""
        return self.attribute in {None, UNNUMBERED}

    @property
    def is_unnumbered(self) -> bool:
        """Whether a number in front is left out, since it only counts the list."""
        return self.attribute in {UNNUMBERED, UNNUMBERED_TERM}

    @property
    def read(self) -> Read:
        """The read of the column, as a source has it."""
        if self.attribute is None:
            return Read("text", self.selector or None, None)
        return Read("attribute", self.selector or None, self.attribute)


def columns(
    survey: Survey, fields: Sequence[Field], readings: Sequence[Reading], records: int
) -> list[ListColumn]:
    """The columns that readings of the fields of so many records give, in the order of the page."""
    whole = [
        without_counter(survey, with_whole_text(survey, reading, fields), fields)
        for reading in readings
    ]
    best = sorted(distinct(whole, survey), key=lambda reading: -_worth(reading, records))[:MOST]
    ordered = list(_in_order(fields, best))
    known_by = prominent(survey, fields[0], ordered)
    title = next((reading.field for reading in known_by if reading.is_text), None)
    naming = Naming(survey, [reading.field for reading in ordered], title)
    read = {number for reading in ordered for number in reading.field.elements.values()}
    return [
        _column(
            survey,
            naming,
            reading,
            main=any(reading is other for other in known_by),
            goes_on=_count_that_go_on(survey, fields[0], reading.field, read),
        )
        for reading in ordered
    ]


def _column(
    survey: Survey, naming: Naming, reading: Reading, *, main: bool, goes_on: int
) -> ListColumn:
    values = list(reading.values.values())
    titled = tag_of(survey, reading.field) in _TITLES
    kind = "string" if titled or reading.attribute is not None else _kind(values)
    name, label = naming.name(
        reading.field, None if reading.is_text else reading.attribute, kind, values
    )
    if label is not None and is_code(name) and all(map(_DIGITED.fullmatch, values)):
        # The digits of an identifier are no quantity.
        kind = "string"
    sections = reading.attribute == "href" and number_sections(values, survey.page.url)
    return ListColumn(
        name,
        reading.field.selector,
        reading.attribute,
        kind,
        reading.values,
        label,
        main,
        sections,
        partly_whole(survey, reading),
        sign_of_place(values) if reading.attribute in {None, TERM} else None,
        goes_on,
    )


def _count_that_go_on(survey: Survey, records: Field, field: Field, read: Collection[int]) -> int:
    """In how many records another one like it comes after it that no column reads."""
    return sum(
        _goes_on(survey, records.elements[record], number, read)
        for record, number in field.elements.items()
    )


def _goes_on(survey: Survey, record: int, number: int, read: Collection[int]) -> bool:
    signature, around = survey.signatures[number], survey.parents[number]
    if signature.tag not in _SEVERAL:
        return False
    while around > record and survey.signatures[around].tag not in CELLS:
        around = survey.parents[around]
    later = (
        below
        for below in islice(survey.shown_below(max(around, record)), MOST_BELOW)
        if below > number and survey.signatures[below].name == signature.name
    )
    following = next(later, None)
    return following is not None and not _is_read(survey, record, following, read)


def _is_read(survey: Survey, record: int, number: int, read: Collection[int]) -> bool:
    """Whether a column reads an element of a record, or one around it."""
    while number > record and number not in read:
        number = survey.parents[number]
    return number > record


def _in_order(fields: Sequence[Field], readings: Sequence[Reading]) -> Iterator[Reading]:
    for field in fields:
        yield from (reading for reading in readings if reading.field is field)


def _worth(reading: Reading, records: int) -> float:
    """How much a person may miss a column: one that is filled, differs, and is easy to name."""
    different = len(set(reading.values.values())) / len(reading.values)
    return len(reading.values) / records + 0.5 * different - 0.15 * reading.field.cost


def _kind(values: Sequence[str]) -> str:
    """The type of a column: a number if all but few are one, with the same words around them."""
    numbers = sum(_is_number(value) for value in values)
    around = {clean(_DIGITS.sub(" ", value)).strip("+-−~≈ ").rstrip("s") for value in values}
    # One unit, or none: an hour and a day are not the same 1.
    alike = len(around) <= _UNITS and len({*map(_unit, around)} - {""}) <= 1
    return "number" if numbers >= _NUMBERS * len(values) and alike else "string"


def _unit(around: str) -> str:
    """The beginning of the first word around a number, which its plural has too."""
    word = _WORD.search(around)
    return "" if word is None else word[0][:3].casefold()


def _is_number(value: str) -> bool:
    if len(value) > 60 or _CODE.search(value):
        return False
    beside = len(_DIGITS.sub("", value))
    # "Chapter 12" is a title.
    if _NAMED.match(value) and not is_price(value):
        return False
    return beside <= _BESIDE_A_NUMBER and read_cell(value, "number").value is not None
