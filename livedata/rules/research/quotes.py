"""Quotes: whether words stand on a page, and hold a value, number by number: rules 14.6."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from msgspec import Struct

from livedata.rules.research.fold import FoldedText, fold

_NUMBER = re.compile(
    r"""
    (?P<minus> (?<![\w)\]]) (?<!\d[%‰°$€£¥'"]) - [$€£¥]? (?=\d) )?
    (?P<digits>
        \d{1,3} (?: ([ '_]) \d{3} (?!\d) ) (?: \3 \d{3} (?!\d) )* (?: [.,] \d+ )?
      | (?: (?<!\w) [.,] )? \d+ (?: [.,] \d+ )*
    )
    """,
    re.VERBOSE,
)
_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−－"), "-")
_SIGNS = {**_DASHES, **dict.fromkeys(map(ord, "’‘ʼ′٬"), "'"), ord("٫"): "."}
# A tab or a line end parts two cells; other spaces may group the digits of one number.
_BREAKS = "\t\n\r\v\f"

_DATE = re.compile(r"\d{1,2}\.\d{1,2}\.\d{4}|\d{4}\.\d{1,2}\.\d{1,2}")
_SPACED = re.compile(r"(?P<whole>\d{1,3}(?:[ '_]\d{3})+)(?:[.,](?P<part>\d+))?")
_BY_COMMAS = re.compile(r"(?P<whole>\d{1,3}(?:,\d{2,3})*,\d{3})(?:\.(?P<part>\d+))?")
_BY_DOTS = re.compile(r"(?P<whole>\d{1,3}(?:\.\d{3})+)(?:,(?P<part>\d+))?")
_DECIMAL = re.compile(r"(?P<whole>\d+)[.,](?P<part>\d+)")
_LONE_DOT = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_SMALL = re.compile(r"0+[.,]\d+")

LONGEST_EXCERPT = 2048
"""Bytes of UTF-8 that are kept of a quote (interface 8)."""

_MARKUP = re.compile(r"\*\*|__|`")
_EDGES = " .,;:!?'\"()[]{}…"
_AROUND = 40
"""Characters on each side of a quote that may belong to a number at its edge."""


class Number(Struct, frozen=True):
    """A number with its place; `figure` is the one spelling of all that mean the same.

    Digits that are `grouped` by thousands may be meant by "1.234" too, in many languages.
    """

    figure: str
    start: int
    end: int
    grouped: bool = False
    dotted: str | None = None


def numbers(text: str) -> Iterator[Number]:
    """The numbers of a text in their order, with places in it."""
    for match in _NUMBER.finditer(plain_digits(text)):
        minus = "-" if match["minus"] else ""
        for figure in _figures(match["digits"]):
            is_lone = _LONE_DOT.fullmatch(match["digits"]) is not None
            yield Number(
                minus + figure,
                *match.span(),
                grouped="." not in figure and not match["digits"].isdigit(),
                dotted=minus + figure.replace(".", "") if is_lone else None,
            )


def holds_numbers(quote: str, value: str, start: int = 0, end: int | None = None) -> bool:
    """Whether each number of a value is one of its quote, which may stand within a longer text."""
    last = len(quote) if end is None else end
    quoted = [each for each in numbers(quote) if each.start < last and each.end > start]
    shown = {each.figure for each in quoted}
    dotted = {each.dotted for each in quoted}
    return all(
        number.figure in shown or (number.grouped and number.figure in dotted)
        for number in numbers(value)
    )


def with_plain_numbers(text: str) -> str:
    """The text with each number in its one spelling: texts of one value read alike."""
    parts, place = [], 0
    text = plain_digits(text)
    for number in numbers(text):
        parts += [text[place : number.start], f" {number.figure} "]
        place = number.end
    return "".join([*parts, text[place:]])


def plain_digits(text: str) -> str:
    """The text with digits and signs of all scripts as ASCII has them, each in its place."""
    return text if text.isascii() else "".join(map(_plain, text.translate(_SIGNS)))


def _plain(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    # What is raised or a fraction, as in "10²" and "1½", goes on with no number.
    if unicodedata.category(character) == "No":
        return "\t"
    return " " if character.isspace() and character not in _BREAKS else character


def _figures(digits: str) -> list[str]:
    """The spelling of a number, or of each one if the digits are a date or a list."""
    if digits.isdigit():
        return [digits]
    if digits[0] in ".,":
        digits = f"0{digits}"
    if _DATE.fullmatch(digits):
        return digits.split(".")
    match = _SPACED.fullmatch(digits) or _by_separators(digits)
    if match is not None:
        whole = re.sub(r"\D", "", match["whole"])
        part = match["part"] or ""
        return [f"{whole}.{part}" if part.strip("0") else whole]
    # Of several commas none is decimal; of several dots it is a version, and means nothing cut.
    return [figure for each in digits.split(",") for figure in _listed(each)]


def _by_separators(digits: str) -> re.Match[str] | None:
    """How a number with dots and commas is to be read; None if it is not one number."""
    # The table of rules 6: "1.234" has decimals, "1,234" has thousands, "0,234" has decimals.
    if _LONE_DOT.fullmatch(digits) or _SMALL.fullmatch(digits):
        return _DECIMAL.fullmatch(digits)
    by_groups = _BY_COMMAS.fullmatch(digits) or _BY_DOTS.fullmatch(digits)
    return by_groups or _DECIMAL.fullmatch(digits)


def _listed(digits: str) -> list[str]:
    return _figures(digits) if digits.count(".") < 2 else [digits]


class Excerpt(Struct, frozen=True):
    """Words of a page in its own characters, with their place in its folded text.

    `before` and `after` are what stands around them: a quote may begin or end within a number.
    """

    text: str
    start: int
    before: str = ""
    after: str = ""

    def holds_numbers(self, value: str) -> bool:
        """Whether each number of a value stands in these words, whole and with its sign."""
        start = len(self.before)
        around = f"{self.before}{self.text}{self.after}"
        return holds_numbers(around, value, start, start + len(self.text))


class PageWords:
    """The words of a page, in which quotes are looked for."""

    def __init__(self, text: str) -> None:
        self._folded = FoldedText(text)

    def find(self, quote: str) -> Excerpt | None:
        """The page's own words for a quote; None if it does not stand there."""
        folded = fold(quote)
        # Models add markup and lose or add a full stop; nothing else is forgiven.
        plain = fold(_MARKUP.sub("", quote))
        for wanted in dict.fromkeys((folded, plain, plain.strip(_EDGES))):
            start = whole_words_at(self._folded.text, wanted)
            if start is not None:
                return self._excerpt(start, start + len(wanted))
        return None

    def holds(self, words: str) -> bool:
        """Whether these words stand on the page, with nothing that goes on before or after."""
        return whole_words_at(self._folded.text, fold(words)) is not None

    def still_holds(self, excerpt: str) -> bool:
        """Whether an excerpt stands on the page, that may have been cut for its length."""
        return fold(excerpt) in self._folded.text

    def _excerpt(self, start: int, end: int) -> Excerpt:
        first, last = self._folded.place(start), self._folded.place(end - 1) + 1
        text = self._folded.original
        kept = text[first:last].encode()[:LONGEST_EXCERPT].decode(errors="ignore")
        before = text[max(first - _AROUND, 0) : first]
        last = first + len(kept)
        return Excerpt(kept, start, before, text[last : last + _AROUND])


def whole_words_at(folded: str, words: str) -> int | None:
    """Where folded words stand in a folded text, at the edges of words; None if nowhere."""
    if not words:
        return None
    start = folded.find(words)
    while start >= 0:
        end = start + len(words)
        if not _goes_on(folded[start - 1 : start + 1]) and not _goes_on(folded[end - 1 : end + 1]):
            return start
        start = folded.find(words, start + 1)
    return None


def holds_words(text: str, words: str) -> bool:
    """Whether words stand in a text, at the edges of words, once both are folded."""
    return whole_words_at(fold(text), fold(words)) is not None


def _goes_on(pair: str) -> bool:
    """Whether a word or number goes on between two characters."""
    # Scripts without upper and lower case, such as Chinese, often set no spaces between words.
    return len(pair) == 2 and all(each.isdigit() or each.islower() for each in pair)
