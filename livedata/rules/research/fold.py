"""Texts folded for comparison: rules 14.6."""

from __future__ import annotations

import re
import unicodedata
from functools import cached_property

_QUOTES = "‘’‚‛′´`ʼ"
_DOUBLE_QUOTES = "“”„‟″«»"
_DASHES = "‐‑‒–—―−"
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
    return " ".join(unicodedata.normalize("NFC", text).translate(_FOLDING).split())


class FoldedText:
    """A folded text that knows where its characters stand in the original."""

    def __init__(self, text: str) -> None:
        # Composed first, as `fold` does: a place is one in the composed text.
        self.original = unicodedata.normalize("NFC", text)
        self.text = " ".join(self.original.translate(_FOLDING).split())

    def excerpt(self, start: int, end: int) -> str:
        """The original characters of a part of the folded text."""
        first, last = self.place(start), self.place(end - 1)
        return self.original[first : last + 1]

    def place(self, position: int) -> int:
        """The place in the original of the character that a folded one was made of."""
        return self._places[position]

    @cached_property
    def _places(self) -> list[int]:
        places: list[int] = []
        for word in _WORDS.finditer(self.original):
            start, end = word.span()
            if word[0].isascii() and word[0].isprintable():  # each character folds to one
                places += [*([start - 1] if places else ()), *range(start, end)]
            else:
                self._add_places(places, start, end)
        return places

    def _add_places(self, places: list[int], start: int, end: int) -> None:
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
