"""The page of a Run that is kept to be shown: chosen, cut and counted by the pieces of its markup.

The pieces are texts and attributes, as rows may quote them. The markup itself is read for them, and
no tree is made, because their places are needed to cut it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from msgspec.structs import replace

from livedata.extraction.page import has_long_host
from livedata.model.diagnosis.recorded_run import PageCounts
from livedata.model.harvest import LONGEST_MARKUP, Harvest, PageRead, PageSnapshot

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

OF_THE_WHOLE = 1
"""The page that is kept for a problem of the whole Run, such as a mass loss."""
LEAD: Final = 4 * 1024
"""The characters before the first known text: where its item begins, and what stands above it."""

_BODY: Final = re.compile(r"<body\b", re.IGNORECASE)
_TAG: Final = re.compile(r"<[a-zA-Z]")


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


def page_to_keep(harvest: Harvest, number: int | None) -> PageSnapshot | None:
    """The last answer to the request for page `number`; None if there was none."""
    wanted = OF_THE_WHOLE if number is None else number
    answers = [page for page in harvest.seen if page.number == wanted]
    # A page that was asked for again has several answers; the last one decided the Run.
    return answers[-1] if answers else None


def shorten(page: PageSnapshot, texts: Iterable[str]) -> PageSnapshot:
    """A page cut down to LONGEST_MARKUP; the part in which most of the `texts` are is kept."""
    if len(page.markup) <= LONGEST_MARKUP:
        return page
    part = excerpt(page.markup.decode(), frozenset(texts))
    return replace(page, markup=part.encode(), cut=True)


def counts(harvest: Harvest, number: int) -> PageCounts | None:
    """The counts of matches on page `number`; None if it was not read."""
    for page in harvest.pages:
        if page.number == number:
            return _counts(page)
    return None


def _counts(page: PageRead) -> PageCounts:
    filled = [
        sum(record.values[position] is not None for record in page.records)
        for position in range(len(page.matches))
    ]
    counts: PageCounts = {"items": len(page.records), "matched": page.matches, "filled": filled}
    if page.links is not None:
        counts["links"] = page.links
    return counts


def excerpt(markup: str, texts: frozenset[str]) -> str:
    """The part of a page in which most of the texts are; at most LONGEST_MARKUP bytes of it."""
    # A text in the head or in a script does not show where the items are.
    shown = hide_unseen(markup)
    size = LONGEST_MARKUP * len(markup) // len(markup.encode())
    start = _fullest(_places(shown, texts, size), size - LEAD)
    if start is None:
        body = _BODY.search(shown)
        start = body.start() if body else 0
    else:
        # At a tag, if one begins before the text: a part of a tag would be shown as text.
        tag = _TAG.search(markup, max(0, start - LEAD), start)
        start = tag.start() if tag else start
    part = markup[start : start + LONGEST_MARKUP].encode()[:LONGEST_MARKUP]
    # The bytes may end within a character, which is left out.
    return part.decode("utf-8", "ignore")


def _places(shown: str, texts: frozenset[str], size: int) -> list[tuple[int, str]]:
    """Where the texts are, up to a part's size behind the place by which all have come."""
    places: list[tuple[int, str]] = []
    missing = set(texts)
    wanted = WantedTexts(texts)
    last = 0
    for offset, piece in shown_pieces(shown) if texts else ():
        if not missing and offset > last + size:
            break  # a page of 5 MB is not looked through for a list at its beginning
        for text in wanted.among(piece):
            places.append((offset, text))
            if text in missing:
                missing.remove(text)
                last = offset
    return places


def _fullest(places: Sequence[tuple[int, str]], size: int) -> int | None:
    """Where the part of a size begins that has most of the texts; None if there are none."""
    inside: Counter[str] = Counter()
    end = most = 0
    fullest: int | None = None
    for start, text in places:
        while end < len(places) and places[end][0] < start + size:
            inside[places[end][1]] += 1
            end += 1
        if len(inside) > most:
            most, fullest = len(inside), start
        inside[text] -= 1
        if not inside[text]:
            del inside[text]
    return fullest
