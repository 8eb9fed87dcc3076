"""Texts folded for comparison: rules 14.6."""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property

_QUOTES = "‘’‚‛′´`ʼ"
_DOUBLE_QUOTES = "“”„‟″«»"
_DASHES = "‐‑‒–—―−"
# Joiners spell words in Persian and Hindi; a value may have lines and cells.
_SPELLING = "\u200c\u200d\t\n\r"
_WORDS = re.compile(r"\S+")
_BULLETS = "•‣◦▪▫●○■□·∙"


class _Folding(dict[int, str]):
    """The folded form of each character, by its number; made once for each."""

    def __missing__(self, number: int) -> str:
        folded = self[number] = _fold_character(chr(number))
        return folded


def _fold_character(character: str) -> str:
    if character in _BULLETS or character.isspace():
        return " "
    if character in _QUOTES:
        return "'"
    if character in _DOUBLE_QUOTES:
        return '"'
    if character in _DASHES:
        return "-"
    if unicodedata.category(character) in ("Cf", "Cc"):  # zero-width characters, soft hyphens
        return ""
    plain = unicodedata.normalize("NFKC", character).casefold()
    return "".join("-" if each in _DASHES else each for each in plain)


_FOLDING = _Folding()


def fold(text: str) -> str:
    """The text as it is compared: NFKC, lower case, plain marks, single spaces."""
    return _folded(unicodedata.normalize("NFC", text))


def without_marks(text: str) -> str:
    """The text without what a reader of it cannot see: controls, zero-width and direction marks."""
    if text.isprintable():
        return text
    return "".join(
        each for each in text if each in _SPELLING or unicodedata.category(each) not in ("Cf", "Cc")
    )


def _folded(line: str) -> str:
    return " ".join(line.translate(_FOLDING).split())


class _Lines:
    """Where each line that is not empty starts in the folded text, and its span in the original.

    A line is plain if each of its characters is one in both.

    In arrays, because a page may have a hundred thousand lines.
    """

    def __init__(self) -> None:
        self.folded, self.starts, self.ends = array("I"), array("I"), array("I")
        self.plain = array("b")


class FoldedText:
    """A folded text that knows where its characters stand in the original."""

    def __init__(self, text: str) -> None:
        # Composed first, as `fold` does: a place is one in the composed text.
        self.original = unicodedata.normalize("NFC", text)
        self.text = _folded(self.original)
        self._placed: dict[int, Sequence[int]] = {}

    def place(self, position: int) -> int:
        """The place in the original of the character that a folded one was made of."""
        lines = self._lines
        line = bisect_right(lines.folded, position) - 1
        places = self._places(line)
        offset = position - lines.folded[line]
        if offset < len(places):
            return places[offset]
        # What is behind a line's last character is the one space before the next line.
        return self._places(line + 1)[0] - 1

    @cached_property
    def _lines(self) -> _Lines:
        lines = _Lines()
        folded = start = 0
        for line in self.original.split("\n"):
            length = len(_folded(line))
            if length:
                lines.folded.append(folded)
                lines.starts.append(start)
                lines.ends.append(start + len(line))
                # An ASCII character folds to one or none, so here nothing has moved.
                lines.plain.append(length == len(line) and line.isascii())
                folded += length + 1
            start += len(line) + 1
        return lines

    def _places(self, number: int) -> Sequence[int]:
        """The places of the folded characters of one line."""
        start, end = self._lines.starts[number], self._lines.ends[number]
        if self._lines.plain[number]:
            return range(start, end)
        if start not in self._placed:
            places = array("I")
            self._placed[start] = places
            for word in _WORDS.finditer(self.original, start, end):
                first, last = word.span()
                if word[0].isascii() and word[0].isprintable():  # each character folds to one
                    places.extend((*([first - 1] if places else ()), *range(first, last)))
                else:
                    self._add_places(places, first, last)
        return self._placed[start]

    def _add_places(self, places: array[int], start: int, end: int) -> None:
        space = True
        for place in range(start, end):
            for folded in _FOLDING[ord(self.original[place])]:
                if folded.isspace():
                    space = True
                    continue
                if space and places:
                    places.append(place - 1)
                space = False
                places.append(place)
