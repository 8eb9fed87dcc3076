"""The texts and attributes of a page's markup, with their places, as rows may quote them.

It reads the markup itself and makes no tree, because the places are needed to cut it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Set
from contextlib import suppress
from html import unescape
from typing import Final
from urllib.parse import urlsplit

LONGEST_PAGE: Final = 2 * 2**20
"""The characters of a page that are looked through."""
LONGEST_PIECE: Final = 2_000

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
_STRING: Final = re.compile(r"\"((?:[^\"\\\n]|\\.){1,5000})\"")


def hide_unseen(markup: str) -> str:
    """The markup with spaces for what nobody sees: head, scripts, comments. Places stay."""
    return _UNSEEN.sub(lambda match: " " * len(match[0]), markup[:LONGEST_PAGE])


def shown_pieces(shown: str) -> Iterator[tuple[int, str]]:
    """The texts and the attributes of markup that `hide_unseen` has made, with their places."""
    for match in _PIECE.finditer(shown):
        piece = _piece(match[match.lastindex or 0])
        if piece:
            yield match.start(), piece


def pieces(shown: str) -> Iterator[str]:
    """As `shown_pieces`, each once and in no order."""
    # Most pieces of a large page are the same few classes.
    for written in {text or double or single for text, double, single in _PIECE.findall(shown)}:
        if piece := _piece(written):
            yield piece


def joined_pieces(shown: str) -> Iterator[str]:
    """The texts between elements that begin a new line: a name may have words in other tags."""
    return pieces(_INLINE.sub("", shown))


def _piece(written: str) -> str:
    if len(written) > LONGEST_PIECE:
        return ""
    return " ".join((unescape(written) if "&" in written else written).split())


def script_strings(markup: str) -> Iterator[str]:
    """The strings in the scripts of a page, such as those of its data."""
    for script in _SCRIPT.finditer(markup[:LONGEST_PAGE]):
        for match in _STRING.finditer(script[1]):
            string = match[1]
            if "\\" in string:
                with suppress(ValueError):
                    string = json.loads(f'"{string}"')
            if "<" in string:
                yield from pieces(string)
            yield string


def wanted_texts(piece: str, wanted: Set[str]) -> Set[str]:
    """The texts of `wanted` that a piece of a page is, or is an address of."""
    if "/" in piece and " " not in piece:
        return address_tails(piece) & wanted
    return {piece} if piece in wanted else _NONE


def address_tails(text: str) -> set[str]:
    """The ends of an address, which stay the same in each way to write it; else the text itself."""
    if "/" not in text or " " in text:
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
