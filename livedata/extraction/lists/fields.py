"""The fields of records: selectors that hit the same thing in each of them.

As with lists, selectors come first: the first match of every selector in every record is noted, and
selectors that hit the same elements are one field, with the cheapest of them. What no selector hits
is no field. Nor is what hits one part in some records and another part in others, an author among
tags: a selector finds its first match, so where a record lacks the part that is meant, the column
would have a value that is none of its own.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct

from livedata.extraction.cells import clean
from livedata.extraction.derived_names import INDEX
from livedata.extraction.lists.identity.natures import is_price
from livedata.extraction.lists.signatures import GENERATED, PLAIN, ElementSignature, named_options
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import AttributeTest, Compound
from livedata.extraction.text import names

SAMPLE: Final = 200
"""So many records are looked at."""
MOST_BELOW: Final = 300
"""So many elements of each."""
_MOST_MADE: Final = 60
CELLS: Final = names("td th")
_TELLING: Final = names("h1 h2 h3 h4 h5 h6 time img article dt abbr figure blockquote pre")
_SELDOM: Final = 0.2
"""A field is filled in at least so many of the records."""
_NEW: Final = 0.8
"""And so many of its elements are in no better field."""
_STEP: Final = 0.6
_DEEP: Final = 0.2
"""What it costs a step that it may be several."""
_INDEX: Final = 2.0
_HEADED: Final = 0.5
"""A cell by its header survives a new column, and says what it is."""
_LONGEST_HEADER: Final = 100
_LONGEST: Final = 100
_SHARED: Final = 0.5
"""What so many records have beside the part that is meant is another part, and no form of it."""


_Name = tuple[str, float]
"""A compound that names an element, and what it costs."""


class Field(Struct, frozen=True, eq=False):
    """The first match of a selector in each record that has one, by the number of the record.

    A selector that is empty reads the record itself.
    """

    selector: str
    cost: float
    elements: dict[int, int]


def fields(survey: Survey, members: Sequence[int]) -> list[Field]:
    """The fields of the records in the order of the page, the record itself first."""
    sample = varied(survey, members, SAMPLE)
    whole = Field("", 0.0, dict(enumerate(sample)))
    chosen = _chosen(survey, sample, all_fields(survey, sample))
    return [whole, *sorted(chosen, key=lambda field: _place(field, sample))]


def all_fields(survey: Survey, sample: Sequence[int]) -> list[Field]:
    """Whatever a selector hits in enough of the records, each once, by its cheapest selector."""
    hits = _Hits()
    named: dict[ElementSignature, list[_Name]] = {}
    # A record may have such a place itself, and tomorrow another one has it.
    places = tuple({_place_of(survey.signatures[member]) for member in sample})
    for record, member in enumerate(sample):
        names: dict[int, list[_Name]] = {member: _names(survey, member, named)[:2]}
        regions: dict[int, _Name | None] = {member: None}
        cells: dict[int, int] = {}
        for number in islice(survey.shown_below(member), MOST_BELOW):
            own = names[number] = _names(survey, number, named)
            parent = survey.parents[number]
            above = [outer for outer in names.get(parent, ()) if not outer[0].startswith(places)]
            region = regions.get(parent)
            is_cell = survey.signatures[number].tag in CELLS
            cell = cells[number] = number if is_cell else cells.get(parent, member)
            for name, cost in own:
                hits.add(name, cost, record, number, cell)
                for outer, more in above:
                    hits.add(f"{outer} > {name}", cost + more + _STEP, record, number, cell)
                if region is not None and INDEX not in name:
                    hits.add_within(region, (name, cost), record, number, cell)
            regions[number] = hits.region(region, survey.signatures[number], own)
    return hits.fields(len(sample))


class _Hits:
    """The first match of each selector in each record, by its number, and what selectors cost.

    What stands in a region of its record, now deeper and now less deep, such as a price and one
    that is reduced, is a field if all records have it there.
    """

    def __init__(self) -> None:
        self._found: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._costs: dict[str, float] = {}
        self._regions: dict[str, str] = {}
        self._nested: set[str] = set()
        self._cells: dict[str, dict[int, int]] = defaultdict(dict)
        self._over_cells: set[str] = set()

    def region(
        self, around: _Name | None, signature: ElementSignature, own: Sequence[_Name]
    ) -> _Name | None:
        """The region that an element is in or begins, by a class that lasts."""
        begun = own[0] if signature.classes and own[0][1] <= PLAIN else None
        if around is not None and begun is not None:
            self._nested.add(begun[0])
        return around or begun

    def add(self, selector: str, cost: float, record: int, number: int, cell: int) -> None:
        """Note that a selector matches an element of a record, in a cell of it."""
        self._found[selector].setdefault(record, number)
        self._costs[selector] = cost
        # What is in the first cell is in another one where that is empty; the cell itself is there.
        if self._cells[selector].setdefault(record, cell) != cell != number:
            self._over_cells.add(selector)

    def add_within(self, region: _Name, own: _Name, record: int, number: int, cell: int) -> None:
        """Note that an element of a record stands anywhere in a region, by its own name."""
        selector = f"{region[0]} {own[0]}"
        self._regions[selector] = region[0]
        self.add(selector, region[1] + own[1] + _STEP + _DEEP, record, number, cell)

    def fields(self, records: int) -> list[Field]:
        """Of the selectors that hit the same elements, in enough of the records, the cheapest."""
        best: dict[tuple[tuple[int, int], ...], tuple[bool, Field]] = {}
        for selector, elements in self._found.items():
            cost, region = self._costs[selector], self._regions.get(selector)
            least = _SELDOM if region is None else 1.0
            # What is called like a region may stand in another one too, and have others in it.
            if len(elements) < least * records or region in self._nested:
                continue
            key = tuple(elements.items())
            offered = selector in self._over_cells, Field(selector, cost, elements)
            if key not in best or _order(*offered) < _order(*best[key]):
                best[key] = offered
        return [field for _, field in best.values()]


def _order(is_over_cells: bool, field: Field) -> tuple[bool, float, int]:
    return is_over_cells, field.cost, len(field.selector)


def spread(members: Sequence[int], most: int) -> list[int]:
    """At most so many members: half of them the first ones, the others from all over."""
    if len(members) <= most:
        return list(members)
    half = most // 2
    rest = len(members) - half
    return [*members[:half], *(members[half + rest * index // half] for index in range(half))]


def varied(survey: Survey, members: Sequence[int], most: int) -> list[int]:
    """At most so many members, as `spread` has them, with one of each making.

    A few records in which a link stands elsewhere say that a selector hits now this, now that.
    """
    some = spread(members, most)
    if len(some) == len(members):
        return some
    makings = {member: _making(survey, member) for member in members}
    shown = {makings[member] for member in some}
    first = {makings[member]: member for member in reversed(members)}
    others = sorted(member for making, member in first.items() if making not in shown)
    kept = spread(some, most - min(len(others), most // 4))
    return sorted({*kept, *spread(others, most - len(kept))})


def _making(survey: Survey, member: int) -> int:
    """A number that is the same for members that are made alike."""
    below = survey.below(member)[:_MOST_MADE]
    return hash(tuple((survey.parents[n] - member, survey.signatures[n].name) for n in below))


def _names(survey: Survey, number: int, named: dict[ElementSignature, list[_Name]]) -> list[_Name]:
    """The compounds that name an element, with what each costs."""
    signature = survey.signatures[number]
    options = named.get(signature)
    if options is None:
        bare = 0.6 if signature.tag in _TELLING else 1.1 if signature.tag == "a" else 1.7
        options = named[signature] = [*named_options(signature)[:4], (signature.bare, bare)]
    return [*options, *_derived(survey, number, signature)]


def _derived(survey: Survey, number: int, signature: ElementSignature) -> Iterator[_Name]:
    """The compounds with attributes that livedata derives from the tree."""
    if number in survey.derived and signature.tag != "tr":
        name, value = survey.derived[number]
        if 0 < len(value) <= _LONGEST_HEADER:
            asked = Compound(signature.tag, (), (), (AttributeTest(name, "=", value),))
            yield to_css(asked), _HEADED
    index = survey.indexes[number]
    if index <= _MOST_INDEX:
        yield f'{_place_of(signature)}{index}"]', _INDEX + index / 50


def _place_of(signature: ElementSignature) -> str:
    """A compound for the place of an element among its siblings, up to the number."""
    return f'{signature.bare}[livedata-index="'


_MOST_INDEX: Final = 30


def _chosen(survey: Survey, sample: Sequence[int], all_fields: list[Field]) -> list[Field]:
    """The fields that hold something of their own, the surest first."""
    ordered = sorted(
        all_fields, key=lambda field: (-_worth(survey, field, len(sample)), field.selector)
    )
    mixtures = _Mixtures(survey)
    for record, member in enumerate(sample):
        mixtures.add(record, member, islice(survey.shown_below(member), MOST_BELOW))
    covered: set[int] = set()
    chosen = []
    for field in ordered:
        numbers = set(field.elements.values())
        new = len(numbers - covered) >= _NEW * len(numbers)
        if new and not mixtures.are_mixed(list(field.elements.values())):
            chosen.append(field)
            covered |= numbers
    return chosen


def _worth(survey: Survey, field: Field, records: int) -> float:
    """Rises with how many records have it and how alike its elements are, falls with its cost."""
    signatures = Counter(survey.signatures[number].name for number in field.elements.values())
    alike = signatures.most_common(1)[0][1] / len(field.elements)
    fill = len(field.elements) / records
    lasting = 0.5 if field.cost < GENERATED else 1.0
    return math.sqrt(fill) * alike * alike / math.pow(0.5 + field.cost, lasting)


def _place(field: Field, sample: Sequence[int]) -> float:
    """Where in a record the field stands, on average over its records."""
    return sum(number - sample[record] for record, number in field.elements.items()) / len(
        field.elements
    )


def declared_read(selector: str, attribute: str | None) -> dict[str, str]:
    """How a source declares what it reads: an attribute or a text, of a match or the record."""
    read = {"selector": selector} if selector else {}
    return read if attribute is None else {**read, "kind": "attribute", "attribute": attribute}


class _Mixtures:
    """Which elements of some records stand in the same place, and which records have each place."""

    def __init__(self, survey: Survey) -> None:
        self._survey = survey
        self._places: dict[int, int] = {}
        self._numbers: dict[tuple[int, str, int], int] = {}
        self._having: defaultdict[int, set[int]] = defaultdict(set)
        self._struck: set[int] = set()

    def add(self, record: int, member: int, numbers: Iterable[int]) -> None:
        """Note the elements below a record, in document order."""
        self._places[member] = 0
        for number in numbers:
            above = self._places.get(self._survey.parents[number], -1)
            signature = self._survey.signatures[number]
            # The cells of a row are its columns, however alike they look.
            cell = self._survey.indexes[number] if signature.tag in CELLS else 0
            key = (above, signature.name, cell)
            place = self._places[number] = self._numbers.setdefault(key, len(self._numbers) + 1)
            self._having[place].add(record)
            if signature.is_struck or self._survey.parents[number] in self._struck:
                self._struck.add(number)

    def are_mixed(self, elements: Sequence[int]) -> bool:
        """Whether elements of several records are of two parts that one record has both of.

        Or some are prices with a line through them, as they were, and the others as they are.
        """
        struck = [number for number in elements if number in self._struck]
        if 0 < len(struck) < len(elements) and all(map(self._is_price, struck)):
            return True
        counts = Counter(self._places.get(number, -1) for number in elements)
        (common, _), *others = counts.most_common()
        usual = self._having[common]
        return any(
            len(self._having[place] & usual) >= _SHARED * len(self._having[place])
            for place, _ in others
            if self._having[place]
        )

    def _is_price(self, number: int) -> bool:
        survey = self._survey
        return is_price(clean(survey.page.text(survey.nodes[number], _LONGEST)))
