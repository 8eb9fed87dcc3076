"""What the fields of records say that differs from one record to the next.

A text that is the same in all records says nothing of any, and is left out: a button, an icon, the
word "Price:". So is an address that only adds the same words to another one's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

from livedata.extraction.cells import clean
from livedata.extraction.derived_names import HEADER, TERM, UNNUMBERED
from livedata.extraction.lists.buttons import are_buttons, tell_apart
from livedata.extraction.lists.column_names import is_label
from livedata.extraction.lists.fields import Field
from livedata.extraction.lists.identity.natures import counts_along, is_code, leads_to_people
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import APART, names

LONGEST: Final = 1_000
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
_APART: Final = re.compile(r"[-_]+")
_NAMES: Final = names("name title")
_MOST: Final = 0.9
_SAME: Final = 0.97
"""Two readings are one if so many of the records say the same in both."""
_BY_PLACE: Final = 0.6
"""What only its place names has to be there in so many records: else it is now this, now that."""
_SENTENCE: Final = 60
_WHOLE: Final = names("h1 h2 h3 h4 h5 h6 a p code pre dt time")
"""Elements that are read as one, whatever stands in them."""


class Reading(Struct, frozen=True):
    """What one field gives: its text, or one of its attributes."""

    field: Field
    attribute: str | None
    values: Mapping[int, str]

    @property
    def is_text(self) -> bool:
        """Whether it is what a person sees, whole or without the number in front."""
        return self.attribute in {None, UNNUMBERED}


def readings(survey: Survey, fields: Sequence[Field], records: int) -> list[Reading]:
    """What differs from record to record, each once, by the field that is the cheapest to name."""
    differing = distinct(list(_differing(survey, fields, records)), survey)
    differing = [reading for reading in differing if not _only_adds_words(reading, differing)]
    links = [reading for reading in differing if reading.attribute == "href"]
    links.sort(key=lambda reading: _place(reading.field))
    kept = [reading for reading in differing if not _is_action(survey, reading, links)]
    return [*kept, *_inner_codes(survey, fields, kept, records)]


def _inner_codes(
    survey: Survey, fields: Sequence[Field], kept: Sequence[Reading], records: int
) -> list[Reading]:
    """The identifier of records that says so on an element of theirs, if they have none themselves.

    The first one that all records have, each its own. What is only the name of a place on the page,
    an `id`, is read if no link is.
    """
    if any(not reading.field.selector and is_code(_plain(reading.attribute)) for reading in kept):
        return []
    leads = any(
        reading.attribute == "href" and len(set(reading.values.values())) == records
        for reading in kept
    )
    for field in fields:
        signature = survey.signatures[next(iter(field.elements.values()))]
        if not field.selector or len(field.elements) < records:
            continue
        for attribute in (*signature.data, *(() if leads else ("id",))):
            if not is_code(_plain(attribute)):
                continue
            values = _attribute_values(survey, field, attribute)
            telling = len(set(values.values())) == records and not counts_along([*values.values()])
            if telling and not any(_equal(values, reading.values) for reading in kept):
                return [Reading(field, attribute, values)]
    return []


def _plain(attribute: str | None) -> str:
    """An attribute as a column is called: data-product-id is product_id."""
    return (attribute or "").removeprefix("data-").replace("-", "_")


def _differing(survey: Survey, fields: Sequence[Field], records: int) -> Iterator[Reading]:
    """What differs, texts that lie within other such texts left out."""
    texts: set[int] = set()
    every = {number for field in fields for number in field.elements.values()}
    times = {number for number in every if survey.signatures[number].tag == "time"}
    for field in fields:
        if "livedata-index" in field.selector and len(field.elements) < _BY_PLACE * records:
            continue
        if len(field.elements) < records and _amid_words(survey, field):
            continue
        tag = tag_of(survey, field)
        inside = sum(any(up in texts for up in survey.above(n)) for n in field.elements.values())
        within = inside > 0.5 * len(field.elements)
        says = _says_something(survey, field)
        alone = not within or tag == "a" or _is_name(survey, field, records)
        values = _texts(survey, field) if says and alone else {}
        if _differ(values, records) and not _is_beside(survey, field, values):
            if not _is_dated(survey, field, times):
                yield Reading(field, None, values)
            if not within and (tag not in APART or _is_leaf(survey, field)):
                texts.update(field.elements.values())
        for attribute in _attributes(survey, field, tag):
            values = _attribute_values(survey, field, attribute)
            counted = not field.selector and counts_along(list(values.values()))
            if _differ(values, records) and not counted:
                yield Reading(field, attribute, values)
                break


def _is_name(survey: Survey, field: Field, records: int) -> bool:
    """Whether its elements are called names or titles, one in each record: of a book, say."""
    if len(field.elements) < records:
        return False
    signature = survey.signatures[next(iter(field.elements.values()))]
    return any(not _NAMES.isdisjoint(_APART.split(name.lower())) for name, _ in signature.classes)


def _amid_words(survey: Survey, field: Field) -> bool:
    """Whether its elements are words of sentences, such as links to what these speak of."""
    amid = 0
    for number in field.elements.values():
        around = survey.parents[number]
        # What a text begins with may be its title.
        amid += (
            survey.own_texts[around] > max(_SENTENCE, 3 * survey.held(survey.texts, number))
            and survey.signatures[number].tag not in APART
            and not _begins(survey, around, number)
        )
    return amid > 0.5 * len(field.elements)


def _begins(survey: Survey, around: int, number: int) -> bool:
    return _text(survey, around).startswith(_text(survey, number))


def tag_of(survey: Survey, field: Field) -> str:
    """The tag of most elements of a field."""
    tags = Counter(survey.signatures[number].tag for number in field.elements.values())
    return tags.most_common(1)[0][0]


def _attributes(survey: Survey, field: Field, tag: str) -> Iterator[str]:
    # Scripts follow the addresses of other elements than links too.
    yield from _ATTRIBUTES.get(tag, ("href",))
    signature = survey.signatures[next(iter(field.elements.values()))]
    if not field.selector:
        yield from (*signature.data, "id", *([TERM] if signature.tag == "dd" else ()))


def _is_dated(survey: Survey, field: Field, times: Collection[int]) -> bool:
    """Whether its elements have nothing but moments that are read as written for programs too."""
    moments = [_moment(survey, number) for number in field.elements.values()]
    dated = [
        survey.page.attribute(survey.nodes[moment], "datetime")
        for moment in moments
        if moment in times
    ]
    return sum(map(bool, dated)) >= _MOST * len(moments) and len(set(dated)) > 1


def _moment(survey: Survey, number: int) -> int:
    """The first element, from one downwards, that is a moment or says more than what is in it."""
    length, inner = survey.held(survey.texts, number), number
    while (
        survey.signatures[inner].tag != "time"
        and inner + 1 < survey.ends[number]
        and survey.held(survey.texts, inner + 1) == length
    ):
        inner += 1
    return inner


def _is_beside(survey: Survey, field: Field, values: Mapping[int, str]) -> bool:
    """Whether texts are labels of what comes next, or say what a button does."""
    return _are_labels(values) or are_buttons(survey, [field.elements[record] for record in values])


def _are_labels(values: Mapping[int, str]) -> bool:
    return sum(map(is_label, values.values())) > 0.5 * len(values)


def _says_something(survey: Survey, field: Field) -> bool:
    """Whether its elements have a text of their own, or are what only one text stands in."""
    own = sum(survey.own_texts[number] > 0 for number in field.elements.values())
    return own >= 0.5 * len(field.elements) or _is_leaf(survey, field)


def _is_leaf(survey: Survey, field: Field) -> bool:
    """Whether nothing in its elements stands apart: their text is one line, and one thing."""
    elements = list(field.elements.values())[:20]
    leaves = sum(
        survey.ends[n] - n < 40
        and not any(survey.signatures[i].tag in APART for i in survey.shown_below(n))
        and not _is_several(survey, n)
        for n in elements
    )
    return bool(field.selector) and leaves >= 0.8 * len(elements)


def _is_several(survey: Survey, number: int) -> bool:
    """Whether an element has no text of its own, and several elements in it have."""
    if survey.own_texts[number]:
        return False
    if survey.signatures[number].tag in _WHOLE and not _is_changed(survey, number):
        return False
    return sum(survey.own_texts[below] > 0 for below in survey.shown_below(number)) > 1


def _is_changed(survey: Survey, number: int) -> bool:
    """Whether a part of an element has a line through it: what was there stands beside what is."""
    struck = (below for below in survey.shown_below(number) if survey.signatures[below].is_struck)
    return any(
        survey.held(survey.texts, below) < survey.held(survey.texts, number) for below in struck
    )


def _texts(survey: Survey, field: Field) -> dict[int, str]:
    read = ((record, _text(survey, number)) for record, number in field.elements.items())
    return {record: value for record, value in read if value}


def _text(survey: Survey, number: int) -> str:
    return clean(survey.page.text(survey.nodes[number], LONGEST))


def _attribute_values(survey: Survey, field: Field, attribute: str) -> dict[int, str]:
    page = survey.page
    read = [
        (record, page.attribute(survey.nodes[number], attribute) or "")
        for record, number in field.elements.items()
    ]
    # Where a script puts the pictures in later, their address is in another attribute.
    if any(value.startswith("data:") for _, value in read):
        return {}
    return {
        record: value
        for record, value in read
        if value and not value.startswith("javascript:") and value[:1] != "#"
    }


def _differ(values: Mapping[int, str], records: int) -> bool:
    """Whether the values tell records apart, and say more than signs."""
    if len(values) < 0.2 * records or len(set(values.values())) < 2:
        return False
    return sum(bool(_WORD.search(value)) for value in values.values()) > 0.5 * len(values)


def distinct(differing: Sequence[Reading], survey: Survey) -> list[Reading]:
    """Each reading once: of equal ones the one that is the cheapest to name.

    What stands around it is better where some records have no such element, and its text alone.
    """
    kept: list[Reading] = []
    for reading in sorted(differing, key=lambda reading: reading.field.cost):
        index = next(
            (index for index, other in enumerate(kept) if _equal(reading.values, other.values)),
            None,
        )
        if index is None:
            kept.append(reading)
        elif _has_more(survey, reading, kept[index]):
            kept[index] = reading
    return kept


def _has_more(survey: Survey, outer: Reading, inner: Reading) -> bool:
    """Whether a text is that of what stands around another one, and more records have it."""
    if outer.attribute is not None or not outer.values.keys() > inner.values.keys():
        return False
    around = sum(
        outer.field.elements[record] in survey.above(number)
        for record, number in inner.field.elements.items()
        if record in outer.values
    )
    return around >= _SAME * len(inner.field.elements)


def _equal(values: Mapping[int, str], others: Mapping[int, str]) -> bool:
    both = differing = 0
    # Two columns are mostly told apart by their first records: a table of 500 columns has 100,000
    # pairs of them.
    at_most = len(values) - _SAME * len(values)
    for record, value in values.items():
        other = others.get(record)
        if other is not None:
            both += 1
            if other != value:
                differing += 1
                if differing > at_most:
                    return False
    return both >= _MOST * max(len(values), 1) and both - differing >= _SAME * both


def _is_action(survey: Survey, reading: Reading, links: Sequence[Reading]) -> bool:
    """Whether a link only does something with what another link leads to: buys it, votes for it."""
    if reading.attribute != "href" or _is_named(survey, reading):
        return False
    # Where all else leads to people, such as authors, a link that is always called the same is that
    # of the record. Of links without words of their own the first one is.
    things = [other for other in links if other is reading or not _leads_to_people(other)]
    return reading is not things[0] or any(_is_named(survey, other) for other in things)


def _is_named(survey: Survey, reading: Reading) -> bool:
    return tell_apart(survey, list(reading.field.elements.values()))


def _leads_to_people(reading: Reading) -> bool:
    return sum(map(leads_to_people, reading.values.values())) > 0.5 * len(reading.values)


def _place(field: Field) -> int:
    """Where the field stands in the first record that has it."""
    return next(iter(field.elements.values()))


def _only_adds_words(reading: Reading, differing: Sequence[Reading]) -> bool:
    """Whether it is another reading with the same words around it: an address with /follow."""
    return HEADER not in reading.field.selector and any(
        other is not reading
        and other.attribute == reading.attribute
        and other.field.selector
        and _adds_the_same(reading.values, other.values)
        for other in differing
    )


def _adds_the_same(longer: Mapping[int, str], shorter: Mapping[int, str]) -> bool:
    both = longer.keys() & shorter.keys()
    if len(both) < _MOST * len(longer):
        return False
    added = {tuple(longer[record].split(shorter[record], 1)) for record in both}
    return len(added) == 1 and len(next(iter(added))) == 2
