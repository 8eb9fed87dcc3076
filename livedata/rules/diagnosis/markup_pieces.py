"""The texts and attributes of a page's markup, with their places, as rows may quote them.

It reads the markup itself and makes no tree, because the places are needed to cut it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from livedata.extraction.page import has_long_host

LONGEST_PAGE: Final = 2 * 2**20
"""The characters of a page that are looked through."""
LONGEST_PIECE: Final = 2_000
LONGEST_STRING: Final = 5_000
"""The characters up to which a string of a script is looked at."""
MOST_PIECES: Final = 100_000
"""The pieces of a page that are looked at: a list of thousands of rows has fewer."""

_UNSEEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<head\b.*?(?:</head\s*>|(?=<body\b)|\Z)|"
    r"<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_PIECE: Final = re.compile(r">([^<>]+)|=[ \t]?\"([^\"<>]+)|=[ \t]?'([^'<>]+)")
_INLINE: Final = re.compile(
    r"</?(?:a|abbr|b|bdi|cite|code|em|font|i|mark|small|span|strong|sub|sup|u|wbr)\b[^<>]*>",
    re.IGNORECASE,
)
_SCRIPT: Final = re.compile(r"<script\b[^<>]*>(.*?)(?:</script\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_NONE: Final[Set[str]] = frozenset()
# An open string is passed as a whole, or each of its escaped quotes would begin another one.
_STRING: Final = re.compile(r"\"((?:[^\"\\\n]|\\.)*+)(\")?")


def hide_unseen(markup: str) -> str:
    """The markup with spaces for what nobody sees: head, scripts, comments. Places stay."""
    return _UNSEEN.sub(lambda match: " " * len(match[0]), markup[:LONGEST_PAGE])


def shown_pieces(shown: str) -> Iterator[tuple[int, str]]:
    """The texts and the attributes of markup that `hide_unseen` has made, with their places."""
    for offset, written in _written(shown):
        if piece := _piece(written):
            yield offset, piece


def pieces(*shown: str) -> Iterator[str]:
    """As `shown_pieces`, of one markup or more, each once and in no order."""
    # Most pieces of a large page are the same few classes.
    for written in {written for markup in shown for _, written in _written(markup)}:
        if piece := _piece(written):
            yield piece


def join_words(shown: str) -> str:
    """The markup without tags that begin no new line: a name may have words in other tags."""
    return _INLINE.sub("", shown)


def _written(shown: str) -> Iterator[tuple[int, str]]:
    for match in islice(_PIECE.finditer(shown), MOST_PIECES):
        yield match.start(), match[match.lastindex or 0]


def _piece(written: str) -> str:
    if len(written) > LONGEST_PIECE:
        return ""
    return " ".join((unescape(written) if "&" in written else written).split())


def script_strings(markup: str) -> Iterator[str]:
    """The strings in the scripts of a page, such as those of its data."""
    return islice(_script_strings(markup), MOST_PIECES)


def _script_strings(markup: str) -> Iterator[str]:
    for script in _SCRIPT.finditer(markup[:LONGEST_PAGE]):
        for match in _STRING.finditer(script[1]):
            string, end = match.groups()
            if not end or len(string) > LONGEST_STRING:
                continue
            if "\\" in string:
                with suppress(ValueError):
                    string = json.loads(f'"{string}"')
            if "<" in string:
                yield from pieces(string)
            yield string


class WantedTexts:
    """Texts to look for in the pieces of a page, which may be addresses that end in them."""

    def __init__(self, texts: Set[str]) -> None:
        self._texts = texts
        self._names = {_last_name(text) for text in texts}

    def among(self, piece: str) -> Set[str]:
        """The texts that a piece is, or is an address of."""
        if "/" not in piece or " " in piece:
            return {piece} if piece in self._texts else _NONE
        # It is slow to take an address apart, and a page may have addresses only.
        if _last_name(piece) not in self._names:
            return _NONE
        return address_tails(piece) & self._texts


def _last_name(address: str) -> str:
    """What an address and each of its tails have in common."""
    path = address.partition("#")[0].partition("?")[0]
    return path.rstrip("/.").rpartition("/")[2].rpartition(":")[2]


def address_tails(text: str) -> set[str]:
    """The ends of an address, which stay the same in each way to write it; else the text itself."""
    if "/" not in text or " " in text or has_long_host(text):
        return {text}
    try:
        parts = urlsplit(text)
    except ValueError:
        return {text}
    names = [name for name in parts.path.split("/") if name.strip(".")]
    if not names:
        return {text}
    query = f"?{parts.query}" if parts.query else ""
    return {text, names[-1] + query, "/".join(names[-2:]) + query}
