"""What columns are called: as the page calls them, else by what they hold."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from livedata.extraction.cells import clean
from livedata.extraction.derived_names import HEADER, TERM
from livedata.extraction.lists.fields import Field, spread
from livedata.extraction.lists.identity.natures import is_address, is_price
from livedata.extraction.lists.survey import Survey
from livedata.extraction.selectors import parse
from livedata.extraction.text import names

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from livedata.extraction.page import Page

LONGEST: Final = 40
_LONGEST_HEADER: Final = 120
_SAMPLE: Final = 24
_AGREE: Final = 0.9
_COLON: Final = re.compile(r"\s*([^:：\d][^:：]{0,39}?)\s*[:：](?:\s|$)")
_CELLS: Final = names("td th dd")
_LABELS: Final = names("th dt label")


def label(survey: Survey, field: Field, values: Sequence[str]) -> str | None:
    """What the page calls what a field reads; None if it does not say so in most records."""
    if (header := _header(survey, field)) is not None:
        return header
    within = _common(_label_of(value) for value in values)
    if within is not None or not field.selector:
        return within
    some = spread(list(field.elements.values()), _SAMPLE)
    return _common(label_before(survey.page, survey.nodes[number]) for number in some)


def _header(survey: Survey, field: Field) -> str | None:
    """The header of the cells that a field reads, or whose whole text it reads."""
    steps = parse(field.selector).steps if field.selector else ()
    for step in reversed(steps):
        for test in step.compound.attributes:
            if test.name in {HEADER, TERM} and test.value:
                is_named = step is steps[-1] or _reads_whole_cells(survey, field)
                return test.value[:_LONGEST_HEADER] if is_named else None
    return None


def _reads_whole_cells(survey: Survey, field: Field) -> bool:
    some = spread(list(field.elements.values()), _SAMPLE)
    return all(_is_whole_cell(survey, number) for number in some)


def _is_whole_cell(survey: Survey, number: int) -> bool:
    cell = number
    while cell >= 0 and survey.signatures[cell].tag not in _CELLS:
        cell = survey.parents[cell]
    said = survey.page.text(survey.nodes[number], _LONGEST_HEADER)
    return cell >= 0 and survey.page.text(survey.nodes[cell], _LONGEST_HEADER) == said


def is_label(value: str) -> bool:
    """Whether a text does nothing but name what comes after it."""
    return value.endswith((":", "：")) and len(value) <= LONGEST


def _label_of(value: str) -> str | None:
    match = _COLON.match(value)
    return match[1] if match else None


def _common(labels: Iterable[str | None]) -> str | None:
    """The label that nearly all have."""
    counts = Counter(labels)
    if not counts:
        return None
    most, count = counts.most_common(1)[0]
    return most if count >= _AGREE * counts.total() else None


def label_before(page: Page, node: LexborNode) -> str | None:
    """What stands before an element and names it, such as "Price:"; or before its only wrapper.

    None if nothing does.
    """
    before = _previous(node)
    if before is None and node.parent is not None:
        before = _previous(node.parent)
    if before is None:
        return None
    is_text = before.tag == "-text"
    said = clean(before.text_content or "" if is_text else page.text(before, LONGEST + 1))
    if is_label(said) or (before.tag in _LABELS and 0 < len(said) <= LONGEST):
        return said.rstrip(":： ") or None
    return None


def _previous(node: LexborNode) -> LexborNode | None:
    """The element or text before a node, white space and comments aside."""
    before = node.prev
    while before is not None and (
        (before.tag == "-text" and not (before.text_content or "").strip())
        or before.tag == "-comment"
    ):
        before = before.prev
    return before


_BY_TAG: Final = {
    "h1": "title", "h2": "title", "h3": "title", "h4": "title", "h5": "title", "h6": "title",
    "time": "date", "img": "image", "pre": "code", "dt": "term", "a": "title",
}  # fmt: skip
_BY_ATTRIBUTE: Final = {
    "href": "link", "src": "image", "data-src": "image", "data-original": "image",
    "data-lazy-src": "image", "datetime": "date", "livedata-term": "term",
    "livedata-unnumbered-term": "term", "id": "id",
}  # fmt: skip
_OWN: Final = frozenset(("id", "livedata-term", "livedata-unnumbered-term"))
"""Attributes that say what they are, whatever stands before them."""
_DATE: Final = re.compile(
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2},? \d{4}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*",
    re.IGNORECASE,
)
_GENERIC: Final = names(
    "a above after anchor area before below block body bottom box btn button cell center class "
    "clearfix col column container content copy cont data div ellipsis external field first grid "
    "group holder icon inline inner internal item left line link list main middle outer p para "
    "paragraph reference right row section small span std tag td text th top txt ulink value "
    "wrap wrapper xref js css"
)
"""What a class says of a place or a way to look, and not of what stands there."""
_CLASS: Final = re.compile(r"\.([-\w]+)")
_ITEMPROP: Final = re.compile(r'\[itemprop="([^"]*)"\]')
_SPLIT: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_NAME: Final = 40
_MOST_ALIKE: Final = 0.6
_MOST_HOLD: Final = 0.7
_SHORT: Final = 60
_BEGUN: Final = 3
_VARIED: Final = 0.5
"""Titles are different ones in more than so many of the records."""
_OLD: Final = names("old struck strike strikethrough strikeout crossed line") | {
    *("", "was", "through", "out"),
}
"""What a class says of a price with a line through it, and not what it is."""
_AROUND: Final = 2
_INSIDE: Final = 4
_TITLED: Final = names("name title")


class Naming:
    """Names for the fields of one list, each used once; `title` is the one of its titles."""

    def __init__(self, survey: Survey, fields: Sequence[Field], title: Field | None) -> None:
        self._survey = survey
        self._title = title
        self._used: set[str] = set()
        self._shared = _GENERIC | _shared_words(
            [n for field in fields for n in _class_names(field)]
        )

    def name(
        self, field: Field, attribute: str | None, kind: str, values: Sequence[str]
    ) -> tuple[str, str | None]:
        """The name of a column, and its label if the page has one that is no name."""
        said = None if attribute in _OWN else label(self._survey, field, values)
        words = identifier(said or "") or self._own(field)
        if attribute is None:
            name = words or self._by_kind(field, kind, values)
            priced = kind == "number" or _by_values(values) == "price"
            if said is None and priced and self._is_struck(field):
                named = not _OLD.issuperset(words.split("_"))
                name = words if named else self._by_kind(field, kind, values)
                name = name if "old" in name.split("_") else f"old_{name}"
            return self._once(name), said
        name = _BY_ATTRIBUTE.get(attribute, "") or identifier(attribute.removeprefix("data-"))
        if name in self._used and words:
            name = f"{words}_{name}" if name not in words.split("_") else words
        return self._once(name), said if attribute not in _BY_ATTRIBUTE else None

    def _by_kind(self, field: Field, kind: str, values: Sequence[str]) -> str:
        """What a text is called that the page gives no name: by what it holds."""
        tag = self._tag(field)
        name = _by_values(values) or ("number" if kind == "number" else _BY_TAG.get(tag, "text"))
        # A list has one title; what else stands in links and headings is a text, such as "New!".
        if field is self._title and name == "text":
            return "title"
        other = self._title is not None and field is not self._title
        varied = len(set(values)) > _VARIED * len(values)
        return "text" if name == "title" and (other or not varied or name in self._used) else name

    def _is_struck(self, field: Field) -> bool:
        """Whether a line is through it: what it was, and is not now."""
        survey = self._survey
        struck = 0
        for number in field.elements.values():
            length = survey.held(survey.texts, number)
            near = [number, *islice(survey.above(number), _AROUND)]
            near += [n for n in survey.below(number) if survey.held(survey.texts, n) == length]
            struck += any(survey.signatures[each].is_struck for each in near)
        return struck > _MOST_ALIKE * len(field.elements)

    def _own(self, field: Field) -> str:
        """The words of its class or property that not all columns have."""
        if match := _ITEMPROP.search(field.selector):
            return identifier(match[1])
        for name in _class_names(field):
            words = [word for word in _words(name) if word not in self._shared]
            if words:
                return (
                    "title" if self._is_around_titles(field, words) else identifier("_".join(words))
                )
        return ""

    def _is_around_titles(self, field: Field, words: Sequence[str]) -> bool:
        """Whether its titles stand alone in elements that are called so, and it is called else."""
        if field is not self._title or not _TITLED.isdisjoint(words):
            return False
        survey = self._survey
        inside = sum(
            any(
                survey.held(survey.texts, below) == survey.held(survey.texts, number)
                and any("title" in _words(name) for name, _ in survey.signatures[below].classes)
                for below in islice(survey.below(number), _INSIDE)
            )
            for number in field.elements.values()
        )
        return inside > _MOST_ALIKE * len(field.elements)

    def _tag(self, field: Field) -> str:
        tags = Counter(self._survey.signatures[number].tag for number in field.elements.values())
        return tags.most_common(1)[0][0]

    def _once(self, name: str) -> str:
        base, count = name, 1
        while name.lower() in self._used:
            count += 1
            name = f"{base}_{count}"
        self._used.add(name.lower())
        return name


def identifier(label: str) -> str:
    """A name that a column may have, made of the Latin letters and digits of a label; or ""."""
    words = _words(label)
    name = ""
    for word in words:
        if len(name) + len(word) + 1 > _LONGEST_NAME:
            break
        name = f"{name}_{word}" if name else word
    name = re.sub(r"^[0-9_]+", "", name)
    return name if len(name) > 1 or label.isascii() else ""


def _words(name: str) -> list[str]:
    # Letters without their accents: "Název" is nazev.
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    return [word.lower() for word in _SPLIT.split(plain) if word]


def _class_names(field: Field) -> list[str]:
    """The classes that a selector names, the inmost first."""
    return _CLASS.findall(field.selector)[::-1]


def _shared_words(names: Sequence[str]) -> set[str]:
    """The words that many classes of a list have, or begin with: of its design, not of columns."""
    several = [words for name in dict.fromkeys(names) if (words := _words(name))]
    counts = Counter(word for words in several for word in set(words))
    most = max(2, _MOST_ALIKE * len(several))
    begun = Counter(words[0] for words in several if len(words) > 1)
    return {word for word, count in counts.items() if count > most or begun[word] >= _BEGUN}


def _by_values(values: Sequence[str]) -> str:
    for name, holds in (("price", is_price), ("date", _is_date), ("address", is_address)):
        if sum(map(holds, values)) > _MOST_HOLD * len(values):
            return name
    return ""


def _is_date(value: str) -> bool:
    return len(value) < _SHORT and bool(_DATE.search(value))
