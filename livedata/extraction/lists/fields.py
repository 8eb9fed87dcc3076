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
from livedata.extraction.lists.identity.natures import is_price
from livedata.extraction.lists.signatures import GENERATED, ElementSignature, named_options
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import AttributeTest, Compound
from livedata.extraction.text import names

SAMPLE: Final = 200
"""So many records are looked at."""
MOST_BELOW: Final = 300
"""So many elements of each."""
_MOST_MADE: Final = 60
_TELLING: Final = names("h1 h2 h3 h4 h5 h6 time img article dt abbr figure blockquote pre")
_SELDOM: Final = 0.2
"""A field is filled in at least so many of the records."""
_NEW: Final = 0.8
"""And so many of its elements are in no better field."""
_STEP: Final = 0.6
_INDEX: Final = 2.0
_HEADED: Final = 0.5
"""A cell by its header survives a new column, and says what it is."""
_LONGEST_HEADER: Final = 100
_LONGEST: Final = 100
_SHARED: Final = 0.5
"""What so many records have beside the part that is meant is another part, and no form of it."""


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
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    costs: dict[str, float] = {}
    named: dict[ElementSignature, list[tuple[str, float]]] = {}
    # A record may have such a place itself, and tomorrow another one has it.
    places = tuple({_place_of(survey.signatures[member]) for member in sample})
    for record, member in enumerate(sample):
        names: dict[int, list[tuple[str, float]]] = {member: _names(survey, member, named)[:2]}
        for number in islice(survey.shown_below(member), MOST_BELOW):
            own = names[number] = _names(survey, number, named)
            above = names.get(survey.parents[number], ())
            for name, cost in own:
                found[name].setdefault(record, number)
                costs[name] = cost
                for outer, more in above:
                    if outer.startswith(places):
                        continue
                    pair = f"{outer} > {name}"
                    found[pair].setdefault(record, number)
                    costs[pair] = cost + more + _STEP
    return _cheapest(found, costs, len(sample))


def spread(members: Sequence[int], most: int) -> list[int]:
    """At most so many members: half of them the first ones, the others from all over."""
    if len(members) <= most:
        return list(members)
    half = most // 2
    rest = len(members) - half
    return [*members[:half], *(members[half + rest * at // half] for at in range(half))]


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


def _names(
    survey: Survey, number: int, named: dict[ElementSignature, list[tuple[str, float]]]
) -> list[tuple[str, float]]:
    """The compounds that name an element, with what each costs."""
    signature = survey.signatures[number]
    options = named.get(signature)
    if options is None:
        bare = 0.6 if signature.tag in _TELLING else 1.1 if signature.tag == "a" else 1.7
        options = named[signature] = [*named_options(signature)[:4], (signature.bare, bare)]
    return [*options, *_derived(survey, number, signature)]


def _derived(
    survey: Survey, number: int, signature: ElementSignature
) -> Iterator[tuple[str, float]]:
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


def _cheapest(
    found: dict[str, dict[int, int]], costs: dict[str, float], records: int
) -> list[Field]:
    """Of the selectors that hit the same elements the cheapest one."""
    best: dict[tuple[tuple[int, int], ...], Field] = {}
    for selector, elements in found.items():
        if len(elements) < _SELDOM * records:
            continue
        key = tuple(elements.items())
        known = best.get(key)
        if known is None or (costs[selector], len(selector)) < (known.cost, len(known.selector)):
            best[key] = Field(selector, costs[selector], elements)
    return list(best.values())


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
            cell = self._survey.indexes[number] if signature.tag in {"td", "th"} else 0
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
