"""Where a page writes the values of known rows: read once of a page, asked for each field."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from livedata.extraction.cells import clean, read_cell
from livedata.extraction.matching.names import is_derived
from livedata.extraction.work import Work
from livedata.model.row import Scalar
from livedata.rules.diagnosis.markup_pieces import address_tails

if TYPE_CHECKING:
    from livedata.extraction.outline import Element, Outline

LIMIT: Final = 30_000
"""The places, and the elements around them, that all fields may look at: 0.2 s at most. Real lists
with 50 fields take up to 6,000."""
LONGEST: Final = 500
"""The characters of an attribute up to which it may hold a cell."""
LONGEST_NUMBER: Final = 100
"""The characters of a text up to which it may be a number: reading them takes long."""

Holders = dict["Element", list[str]]
"""The inmost elements that hold a value, each with its attributes ("" for the text)."""
_Index = Mapping[Scalar, Sequence[int]]
"""What a page says -> the numbers of the places that say it."""


class KnownValues(Struct, frozen=True):
    """The values of a field in known rows; `kind` is the type of its column."""

    name: str
    kind: str
    attribute: str | None
    values: Sequence[Scalar]

    @property
    def wanted(self) -> set[Scalar]:
        """The values to look for."""
        # "true" and "false", and the words for them, are on any page.
        return {value for value in self.values if value is not None and self.kind != "boolean"}

    def forms(self, index: _Index) -> dict[Scalar, Scalar]:
        """How a page writes values -> the values: an address in an attribute has many forms."""
        if self.attribute is None:
            return {value: value for value in self.wanted if value in index}
        forms: defaultdict[Scalar, set[Scalar]] = defaultdict(set)
        for value in self.wanted:
            for form in (value, *address_tails(str(value))):
                if form in index:
                    forms[form].add(value)
        return {form: value for form, (value, *others) in forms.items() if not others}


class Places:
    """The elements of a page by what they say; raises `TooMuchWork` for a page that says too much.

    A field of any page may look at all of it, and a source has up to 50 fields.
    """

    def __init__(self, outline: Outline) -> None:
        self._elements = outline.elements
        self._work = Work(LIMIT)
        self._indexes: dict[tuple[str, bool], tuple[Sequence[tuple[Element, str]], _Index]] = {}
        self._selectors: dict[Element, str] = {}

    def selector(self, element: Element) -> str:
        """The selector of an element."""
        # Made once: its classes may be long, and its attributes may hold many values.
        if element not in self._selectors:
            self._selectors[element] = element.selector
        return self._selectors[element]

    def spend(self, looks: int, field: KnownValues) -> None:
        """Count what a field looks at."""
        self._work.spend(looks, field.name)

    def of(self, field: KnownValues) -> list[Holders]:
        """Where each value of a field is that the page has, the first one on the page first."""
        if not field.wanted:
            return []
        places, index = self._index(field.kind, in_attributes=field.attribute is not None)
        numbers: defaultdict[Scalar, set[int]] = defaultdict(set)
        for form, value in field.forms(index).items():
            self.spend(len(index[form]), field)
            # Two ends of one address stand for the same value.
            numbers[value].update(index[form])
        in_order = sorted(sorted(own) for own in numbers.values())
        return [_inmost(places[number] for number in own) for own in in_order]

    def _index(
        self, kind: str, *, in_attributes: bool
    ) -> tuple[Sequence[tuple[Element, str]], _Index]:
        """The (element, attribute) that may hold a cell, and what they say -> their numbers."""
        key = (kind, in_attributes)
        if key not in self._indexes:
            places: list[tuple[Element, str]] = []
            index: defaultdict[Scalar, list[int]] = defaultdict(list)
            for element in self._elements:
                for name, text in _texts(element, in_attributes=in_attributes):
                    for form in _written(text, kind, in_attributes=in_attributes):
                        index[form].append(len(places))
                    places.append((element, name))
            self._indexes[key] = places, index
        return self._indexes[key]


def _texts(element: Element, *, in_attributes: bool) -> Iterator[tuple[str, str]]:
    if not in_attributes:
        if element.text:
            yield "", element.text
        return
    for name, text in element.attributes.items():
        # A derived attribute says what another element says, or a number.
        if name not in {"class", "style"} and not is_derived(name) and len(text) <= LONGEST:
            yield name, clean(text)


def _written(text: str, kind: str, *, in_attributes: bool) -> Collection[Scalar]:
    """What a text says, in each form in which a field of this type may know it."""
    if kind != "string" and len(text) > LONGEST_NUMBER:
        return ()
    value = read_cell(text, kind).value
    return address_tails(value) if in_attributes and isinstance(value, str) else (value,)


def _inmost(places: Iterator[tuple[Element, str]]) -> Holders:
    holders: Holders = {}
    for element, name in places:
        # A parent has the text of its child too: only the innermost element counts.
        if element.parent is not None:
            holders.pop(element.parent, None)
        holders.setdefault(element, []).append(name)
    return holders
