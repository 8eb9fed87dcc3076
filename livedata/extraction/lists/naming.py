"""What columns are called: as the page calls them, else by what they hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from livedata.extraction.lists.fields import Field
from livedata.extraction.lists.survey import Survey
from livedata.extraction.matching.names import HEADER, TERM
from livedata.extraction.selectors import parse

_BY_TAG: Final = {
    "h1": "title", "h2": "title", "h3": "title", "h4": "title", "h5": "title", "h6": "title",
    "time": "date", "img": "image", "p": "text", "blockquote": "text", "pre": "code", "dt": "term",
}  # fmt: skip
_BY_ATTRIBUTE: Final = {
    "href": "link", "src": "image", "data-src": "image", "data-original": "image",
    "data-lazy-src": "image", "datetime": "date", "livedata-term": "term", "id": "id",
}  # fmt: skip
_PRICE: Final = re.compile(
    r"(?:[$€£¥₹₽]|\b(?:USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|Kč|zł|kr|руб)\b)\s*[\d.,' ]*\d"
    r"|\d[\d.,' ]*\s*(?:[$€£¥₹₽]|\b(?:USD|EUR|GBP|CHF|SEK|NOK|DKK|PLN|CZK|JPY|Kč|zł|kr|руб)\b)"
)
_DATE: Final = re.compile(
    r"\b\d{4}[-/.]\d{1,2}[-/.]\d{1,2}\b|\b\d{1,2}[-/. ]\d{1,2}[-/. ]\d{4}\b"
    r"|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? \d{1,2},? \d{4}\b"
    r"|\b\d{1,2}(?:st|nd|rd|th)? (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*",
    re.IGNORECASE,
)
_CLASS: Final = re.compile(r"\.([-\w]+)")
_ITEMPROP: Final = re.compile(r'\[itemprop="([^"]*)"\]')
_SPLIT: Final = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_LONGEST_NAME: Final = 40
_MOST_ALIKE: Final = 0.6


class Naming:
    """Names for the fields of one list, each used once."""

    def __init__(self, survey: Survey, fields: Sequence[Field]) -> None:
        self._survey = survey
        self._used: set[str] = set()
        self._shared = _shared_words([name for field in fields for name in _class_names(field)])

    def name(
        self, field: Field, attribute: str | None, values: Sequence[str]
    ) -> tuple[str, str | None]:
        """The name of a column, and its label if the page has one that is no name."""
        label = _label(field)
        words = identifier(label or "") or self._own(field)
        kind = _BY_ATTRIBUTE.get(attribute or "", "") or identifier(
            (attribute or "").removeprefix("data-")
        )
        if attribute is None:
            name = words or _by_values(values) or _BY_TAG.get(self._tag(field), "") or "text"
        elif attribute == "href":
            name = kind if kind not in self._used or not words else f"{words}_{kind}"
        else:
            name = kind
        return self._once(name), label

    def _own(self, field: Field) -> str:
        """The words of its class or property that not all columns have."""
        if match := _ITEMPROP.search(field.selector):
            return identifier(match[1])
        for name in _class_names(field):
            words = [word for word in _words(name) if word not in self._shared]
            if words:
                return identifier(" ".join(words))
        return ""

    def _tag(self, field: Field) -> str:
        tags = Counter(self._survey.looks[number].tag for number in field.elements.values())
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
    return [word.lower() for word in _SPLIT.split(name) if word]


def _class_names(field: Field) -> list[str]:
    """The classes that a selector names, the inmost first."""
    return _CLASS.findall(field.selector)[::-1]


def _shared_words(names: Sequence[str]) -> set[str]:
    """The words that most classes of a list have: of its design, not of its columns."""
    counts = Counter(word for name in set(names) for word in set(_words(name)))
    most = max(2, _MOST_ALIKE * len(set(names)))
    return {word for word, count in counts.items() if count > most}


def _label(field: Field) -> str | None:
    """What the page itself calls it: the header above a cell, or the term before a description."""
    for test in parse(field.selector).steps[-1].compound.attributes if field.selector else ():
        if test.name in {HEADER, TERM} and test.value:
            return test.value[:120]
    return None


def _by_values(values: Sequence[str]) -> str:
    for name, pattern in (("price", _PRICE), ("date", _DATE)):
        if sum(bool(pattern.search(value)) and len(value) < 60 for value in values) > 0.7 * len(
            values
        ):
            return name
    return ""
