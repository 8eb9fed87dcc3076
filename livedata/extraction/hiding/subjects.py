"""What the selectors of a style sheet say of the element that their rule is for.

A selector that is one compound of a tag, classes and ids says all of it. Of any other only its last
compound is read, and of that what is a tag, a class or an id: it matches no element without these,
but perhaps not each one with them. So such a selector may show an element, and hides none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from livedata.extraction.selectors import NAME, lower, unescape
from livedata.extraction.text import names

_PIECE: Final = re.compile(
    rf"(?P<space>[\s>+~]+)|(?P<sigil>[.#]?)(?P<name>{NAME})|(?P<pseudo>::?-?[a-z-]+)|[*&]|(?P<odd>.)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE: Final = re.compile(
    rf"\[\s*+{NAME}\s*+(?:[~|^$*]?=\s*+(?:{NAME}|\"_\")\s*+(?:[is]\s*+)?)?\]", re.IGNORECASE
)
_ATTRIBUTE_MARK: Final = "\x00"
_NESTING: Final = re.compile(r"\\.|[()\[\]]|[^\\()\[\]]+", re.DOTALL)
_LIST: Final = re.compile(r"\\.|,|[^\\,]+", re.DOTALL)
_IN_USE: Final = names(":hover :focus :active :focus-within :focus-visible :visited")
"""What an element is only while a person does something with it, or has done so."""
_PARTS: Final = names(":before :after :first-line :first-letter")
_KNOWN: Final = _IN_USE | names(
    ":link :root :empty :target :checked :disabled :enabled :first-child :last-child :only-child "
    ":first-of-type :last-of-type :only-of-type"
)
"""Pseudo-classes that each browser knows: one that it does not know makes a rule invalid."""


class SelectorSubject(Struct, frozen=True):
    """The tag, the ids and the classes of an element; `sure` says that nothing else is asked."""

    tag: str | None
    ids: tuple[str, ...]
    classes: tuple[str, ...]
    sure: bool

    @property
    def is_any(self) -> bool:
        """Whether it asks for nothing, so that each element may be it."""
        return not (self.tag or self.ids or self.classes)

    @property
    def specificity(self) -> tuple[int, int, int]:
        """How it stands against others in the cascade, if it is sure."""
        return len(self.ids), len(self.classes), int(self.tag is not None)


def subjects(selectors: str) -> list[SelectorSubject]:
    """The subjects of a list of selectors; of those that no element is at rest, none.

    If one of them may be invalid, all may be: then none of them is sure.
    """
    read = [_Selector(selector) for selector in _split(selectors)]
    known = all(selector.is_known for selector in read)
    return [selector.subject(known) for selector in read if not selector.is_of_no_element]


def _split(selectors: str) -> Iterator[str]:
    """The selectors of a list, with only their brackets left of what stands in brackets."""
    pieces: list[str] = []
    for piece in _LIST.findall(_outside(selectors)):
        if piece == ",":
            yield "".join(pieces)
            pieces = []
        else:
            pieces.append(piece)
    yield "".join(pieces)


def _outside(selectors: str) -> str:
    """Selectors with a mark for each attribute test, and nothing in other brackets."""
    depth = 0
    kept = []
    for piece in _NESTING.findall(_ATTRIBUTE.sub(_ATTRIBUTE_MARK, selectors)):
        if piece in {")", "]"}:
            depth = max(depth - 1, 0)
        elif piece in {"(", "["}:
            if not depth:
                kept.append("(")
            depth += 1
        elif not depth:
            kept.append(piece)
    return "".join(kept)


class _Selector:
    """One selector, read from left to right; what it says of its subject is that of its end."""

    def __init__(self, text: str) -> None:
        self.is_known = True
        self.is_of_no_element = False
        self._has_more = False
        self._start()
        for piece in _PIECE.finditer(text.strip()):
            self._read(piece)
        self.is_known &= self._begun

    def _start(self) -> None:
        """Begin a compound."""
        self._begun = False
        self._tag: str | None = None
        self._ids: list[str] = []
        self._classes: list[str] = []

    def subject(self, known: bool) -> SelectorSubject:
        """The subject; `known` says that the whole list is one that each browser knows."""
        sure = known and not self._has_more
        return SelectorSubject(self._tag, tuple(self._ids), tuple(self._classes), sure)

    def _read(self, piece: re.Match[str]) -> None:
        begun, self._begun = self._begun, True
        if piece["space"]:
            self._has_more = True
            self.is_known &= begun and len(piece["space"].strip()) <= 1
            self._start()
        elif piece["name"]:
            # A tag can only stand first.
            self.is_known &= not begun or bool(piece["sigil"])
            self._name(piece["sigil"], unescape(piece["name"]))
        elif piece["pseudo"]:
            self._pseudo(piece["pseudo"].lower())
        else:
            self._has_more |= piece[0] != "*"
            self.is_known &= piece[0] == _ATTRIBUTE_MARK or (piece[0] in "*&" and not begun)

    def _name(self, sigil: str, name: str) -> None:
        if sigil == ".":
            self._classes.append(name)
        elif sigil == "#":
            self._ids.append(name)
        else:
            self._tag = lower(name)

    def _pseudo(self, name: str) -> None:
        self._has_more = True
        if name in _PARTS or name.startswith("::"):
            self.is_of_no_element = True
            self.is_known &= name.lstrip(":") in {"before", "after"}
        else:
            self.is_of_no_element |= name in _IN_USE
            self.is_known &= name in _KNOWN
