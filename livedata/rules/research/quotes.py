"""Quotes: whether words stand on a page, and whether they hold a value. Rules 14.6."""

from __future__ import annotations

import re

from msgspec import Struct

from livedata.rules.research.fold import FoldedText, fold
from livedata.rules.research.numbers import holds_numbers

LONGEST_EXCERPT = 2048
"""Bytes of UTF-8 that are kept of a quote (interface 8)."""

_MARKUP = re.compile(r"\*\*|__|`")
_EDGES = " .,;:!?'\"()[]{}…"
_AROUND = 40
"""Characters on each side of a quote that may belong to a number at its edge."""


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
