"""Of all that a record says and leads to: what it is about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from livedata.extraction.lists.fields import Field, spread
from livedata.extraction.lists.identity.natures import leads_to_people
from livedata.extraction.lists.readings import Reading
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import names

_SAMPLE: Final = 60
_HEADINGS: Final = names("h1 h2 h3 h4 h5 h6 dt th")
_AGREE: Final = 0.6
_LONG: Final = 60
_IN_A_HEADING: Final = 3.0
_ALL: Final = 0.9
LONGEST: Final = 140
"""A title has at most so many characters on average."""
_TIMES: Final = 3
_FIRST: Final = 1.0
_BESIDE: Final = 4.0
"""What it costs a link that it leads to a person, or to where other records lead too, or is a
word of a sentence."""


def prominent(survey: Survey, whole: Field, readings: Sequence[Reading]) -> list[Reading]:
    """The link, the text and the `id` by which records are known: at most one of each.

    `whole` are the records themselves. A program may have made their ids: the link of their title
    is better, if there is one.
    """
    link, title = _link_and_title(survey, whole, readings)
    known_by = [reading for reading in (link, title) if reading is not None]
    if link is not None and title is not None and _is_of_title(survey, link, title):
        return known_by
    return [
        *known_by,
        *(reading for reading in readings if reading.attribute == "id" and reading.field is whole),
    ]


def _is_of_title(survey: Survey, link: Reading, title: Reading) -> bool:
    """Whether nearly all links are what the titles say, or around them."""
    links, names = link.field.elements, title.field.elements
    of_title = 0
    for record in links.keys() & names.keys():
        number, name = links[record], names[record]
        said, named = survey.held(survey.texts, number), survey.held(survey.texts, name)
        inside = name <= number < survey.ends[name] and said >= _ALL * named
        of_title += inside or number <= name < survey.ends[number]
    return of_title >= _ALL * len(links)


def _link_and_title(
    survey: Survey, whole: Field, readings: Sequence[Reading]
) -> tuple[Reading | None, Reading | None]:
    sample = {record: whole.elements[record] for record in spread(list(whole.elements), _SAMPLE)}
    mains = _main_links(survey, sample)
    links = [
        (_share(reading, mains, len(sample)), reading)
        for reading in readings
        if reading.attribute == "href"
    ]
    texts = [
        (_titled(survey, reading, sample, mains), reading)
        for reading in readings
        if reading.is_text
    ]
    link = max(links, key=lambda link: link[0], default=None)
    title = max(texts, key=lambda text: text[0], default=None)
    return (
        link[1] if link is not None and link[0] >= _AGREE else None,
        title[1] if title is not None and title[0] >= _AGREE else None,
    )


def _main_links(survey: Survey, sample: Mapping[int, int]) -> Mapping[int, str]:
    """The address of each record that leads the most to it, by the number of the record."""
    by_record = {record: _links(survey, number) for record, number in sample.items()}
    shared = Counter(address for links in by_record.values() for address in links)
    mains = {}
    for record, links in by_record.items():
        weights = {
            address: weight - (_BESIDE if shared[address] > 1 else 0.0)
            for address, weight in links.items()
        }
        best = max(weights, key=lambda address: weights[address], default=None)
        if best is not None and weights[best] > 0:
            mains[record] = best
    return mains


def _links(survey: Survey, record: int) -> Mapping[str, float]:
    """The addresses of a record, each with how much of it leads there."""
    weights: dict[str, float] = {}
    beside: dict[str, bool] = {}
    for number in (record, *survey.below(record)):
        if survey.signatures[number].tag != "a":
            continue
        address = survey.page.attribute(survey.nodes[number], "href")
        if not address or not address.startswith(("http:", "https:")):
            continue
        weights.setdefault(address, 0.0 if weights else _FIRST)
        headed = _is_headed(survey, record, number)
        weights[address] += _weight(survey, number) + (_IN_A_HEADING if headed else 0.0)
        # "More info" at the end of a text leads where the picture does.
        apart = headed or not (leads_to_people(address) or _is_amid(survey, number))
        beside[address] = beside.get(address, True) and not apart
    return {
        address: weight - (_BESIDE if beside[address] else 0.0)
        for address, weight in weights.items()
    }


def _weight(survey: Survey, number: int) -> float:
    said = min(survey.held(survey.texts, number), _LONG) / _LONG * _IN_A_HEADING
    return said + (1.0 if survey.held(survey.images, number) else 0.0)


def _is_amid(survey: Survey, number: int) -> bool:
    """Whether a link is a word of a sentence, such as one to what a text speaks of."""
    length, around = survey.held(survey.texts, number), survey.own_texts[survey.parents[number]]
    return survey.signatures[number].tag == "a" and around > max(_LONG, _TIMES * length)


def _is_headed(survey: Survey, record: int, number: int) -> bool:
    """Whether an element of a record is in a heading, or has one."""
    around = _up_to(survey, record, number)
    return any(survey.signatures[n].tag in _HEADINGS for n in (*around, *survey.below(number)))


def _up_to(survey: Survey, record: int, number: int) -> Iterator[int]:
    """An element, and those around it up to its record."""
    yield number
    for above in survey.above(number):
        if above < record:
            return
        yield above


def _share(link: Reading, mains: Mapping[int, str], records: int) -> float:
    """In how many of the records a link is the main one."""
    return sum(link.values.get(record) == address for record, address in mains.items()) / records


def _titled(
    survey: Survey, text: Reading, sample: Mapping[int, int], mains: Mapping[int, str]
) -> float:
    """How much a text is the title of its records: it is in a heading, or leads to what they are.

    Less if it is often the same.
    """
    said = [text.values[record] for record in sample if record in text.values]
    if not said or sum(map(len, said)) > LONGEST * len(said):
        return 0.0
    total = 0.0
    for record, number in sample.items():
        element = text.field.elements.get(record)
        if element is not None and record in text.values:
            total += _title_weight(survey, number, element, mains.get(record))
    return total / len(sample) * (len(set(said)) / len(said))


def _title_weight(survey: Survey, record: int, number: int, main: str | None) -> float:
    """Of one text: 2 in a heading, 1 in the main link, or in an element with nothing else in it."""
    length = survey.held(survey.texts, number)
    inside = (n for n in survey.below(number) if survey.held(survey.texts, n) >= _ALL * length)
    best = 0.0
    for near in (*_up_to(survey, record, number), *inside):
        tag = survey.signatures[near].tag
        if tag in _HEADINGS:
            return 2.0
        if main and tag == "a" and survey.page.attribute(survey.nodes[near], "href") == main:
            best = 1.0
    return best
