"""What a group is, if its members are no records: a menu, a form, or what a page says at length.

Every page has something that repeats. A page to log in repeats its menu and the rows of its form, a
chapter its paragraphs and sections; nobody means them as a list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final, Literal

from msgspec import Struct

from livedata.extraction.lists.fields import spread
from livedata.extraction.lists.groups import ElementGroup
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import names

Kind = Literal["menu", "form", "prose", "article", "few"]
"""What a group is, if its members are no records: the entries of a menu, the rows of a form, the
paragraphs of a text, the sections of an article, or a few things that have little in common."""


class Ranked(Struct, frozen=True):
    """A group with its score; `slots` counts what differs from record to record.

    `alike` says how alike its members are, `coverage` which share of the page they hold, both from
    0 to 1. `aside` is the share of those that stand in a menu or at the edge of the page. `kind`
    says what the group is if it is no list of records.
    """

    group: ElementGroup
    score: float
    slots: float
    alike: float
    aside: float
    coverage: float
    kind: Kind | None = None


_COUNTED: Final = 1_000
_LONG: Final = 80
"""The characters of a text that is a sentence rather than a name."""
_CONTROLS: Final = names("input select textarea")
_UNWRITTEN: Final = names("hidden submit button image reset checkbox radio")
"""The types of an input that nobody writes in."""
_SEVERAL: Final = 4
"""A page on which so many things are written in is there for its form."""
_HEADINGS: Final = names("h1 h2 h3 h4 h5 h6")
_RUNNING: Final = names("p pre blockquote")
_TERMED: Final = names("dd dl dt tr")
"""Records by their tag, however different they are."""


class Contents(Struct, frozen=True):
    """Sums over all elements before each one: of long texts, code, controls and headings.

    `asks` says whether the page is there for a form: a person signs in, or writes several things.
    """

    long: Sequence[int]
    code: Sequence[int]
    controls: Sequence[int]
    headings: Sequence[int]
    asks: bool


class _Traits(Struct, frozen=True):
    """What members hold: shares of their text, and shares of the members that have something.

    `length` is the median of their texts, `page` their share of the text of the page, `links` the
    most links in one of them.
    """

    length: int
    page: float
    linked: float
    long: float
    code: float
    controls: float
    headed: float
    linking: float
    links: int


def contents(survey: Survey) -> Contents:
    """What the elements of a page hold."""
    asking = [_asks(survey, number) for number in range(len(survey))]
    written = sum(
        asks and signature.tag != "select"
        for asks, signature in zip(asking, survey.signatures, strict=True)
    )
    signs_in = any(
        signature.tag == "input" and _type(survey, number) == "password"
        for number, signature in enumerate(survey.signatures)
    )
    return Contents(
        _sums(own if own > _LONG else 0 for own in survey.own_texts),
        _sums(_code(survey)),
        _sums(asking),
        _sums(signature.tag in _HEADINGS for signature in survey.signatures),
        written >= _SEVERAL or (signs_in and written > 1),
    )


def _asks(survey: Survey, number: int) -> bool:
    """Whether an element is one that a person writes in, or chooses from."""
    tag = survey.signatures[number].tag
    return tag in _CONTROLS and (tag != "input" or _type(survey, number) not in _UNWRITTEN)


def _type(survey: Survey, number: int) -> str:
    return (survey.nodes[number].attributes.get("type") or "").lower()


def _code(survey: Survey) -> Iterator[int]:
    """The length of the text of each element that stands in code."""
    inside: list[bool] = []
    for signature, parent in zip(survey.signatures, survey.parents, strict=True):
        inside.append(signature.tag == "pre" or (parent >= 0 and inside[parent]))
    return (own if code else 0 for own, code in zip(survey.own_texts, inside, strict=True))


def kind_of(survey: Survey, held: Contents, ranked: Ranked) -> Kind | None:
    """What a group is if it is no list; None if it may be one."""
    traits = _traits(survey, held, ranked.group.members)
    if _is_form(traits):
        return "form"
    if _is_menu(held, ranked, traits):
        return "menu"
    if _is_prose(survey, ranked, traits):
        return "prose"
    if _is_article(survey, ranked, traits):
        return "article"
    return "few" if _is_few(ranked) else None


def _is_form(traits: _Traits) -> bool:
    """Whether most members have something to fill in, and lead nowhere: a product has a link."""
    return traits.controls >= 0.5 and traits.linking < 0.5


def _is_menu(held: Contents, ranked: Ranked, traits: _Traits) -> bool:
    """Whether members are links with short names, and the page is there for something else."""
    if traits.linked < 0.9:
        return False
    short = traits.length < 60 and ranked.slots <= 4
    if short or ranked.aside >= 0.9:
        # An index is nearly all that its page has.
        return traits.page < (0.85 if held.asks and short else 0.6)
    return traits.links >= 3 and max(traits.page, ranked.coverage) < 0.4


def _is_prose(survey: Survey, ranked: Ranked, traits: _Traits) -> bool:
    """Whether members are paragraphs one below the other, or code."""
    if traits.code >= 0.8:
        return True
    members = ranked.group.members
    running = survey.signatures[members[0]].tag in _RUNNING
    return running and (ranked.alike < 0.8 or ranked.slots < 4) and _side_by_side(survey, members)


def _is_article(survey: Survey, ranked: Ranked, traits: _Traits) -> bool:
    """Whether members are parts of one text, each of another making."""
    if ranked.alike < 0.33 and traits.linked < 0.9:
        return survey.signatures[ranked.group.members[0]].tag not in _TERMED
    headed = traits.headed >= 0.8 and traits.long >= 0.4 and traits.linked < 0.2
    return headed and ranked.alike < 0.52 and traits.length > 600


def _is_few(ranked: Ranked) -> bool:
    """Whether members are too few for how little they hold, and have in common."""
    return ranked.score < 0.7 + 10 / len(ranked.group.members)


def _traits(survey: Survey, held: Contents, members: Sequence[int]) -> _Traits:
    some = spread(members, _COUNTED)
    lengths = [survey.held(survey.texts, member) for member in some]
    total = max(sum(lengths), 1)
    links = [survey.held(survey.links, member) for member in some]

    def share(sums: Sequence[int]) -> float:
        return sum(survey.held(sums, member) for member in some) / total

    def having(sums: Sequence[int]) -> float:
        return sum(survey.held(sums, member) > 0 for member in some) / len(some)

    return _Traits(
        sorted(lengths)[len(some) // 2],
        sum(lengths) / len(some) * len(members) / max(survey.texts[-1], 1),
        share(survey.linked),
        share(held.long),
        share(held.code),
        having(held.controls),
        having(held.headings),
        having(survey.links),
        max(links),
    )


def _sums(values: Iterable[int]) -> list[int]:
    return list(accumulate(values, initial=0))


def _side_by_side(survey: Survey, members: Sequence[int]) -> bool:
    """Whether most members stand beside another one."""
    counts = Counter(survey.parents[member] for member in members)
    return sum(count for count in counts.values() if count > 1) > 0.5 * len(members)
