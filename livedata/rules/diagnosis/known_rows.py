"""The texts by which the rows of a table are known on a page, and how many rows stand there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Final
from urllib.parse import urlsplit

from livedata.model.row import Scalar

RowTexts = Sequence[str]
"""The texts of a row that no other row has."""

SHORTEST: Final = 3
"""A shorter text is on any page."""
LONGEST: Final = 200
"""A longer text is often shortened in a list."""
MOST_ROWS: Final = 300
MOST_TEXTS: Final = 4
MOST_PLACES: Final = 20
"""The places of a text at which it may turn out to be a part of a longer word."""

UNSEEN: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<head\b.*?(?:</head\s*>|(?=<body\b)|\Z)|"
    r"<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
"""What nobody sees of a page's markup."""


def rows_of_page(
    rows: Mapping[str, Sequence[Scalar]], pages: Sequence[int], number: int
) -> list[RowTexts]:
    """The texts of the rows that were read on page `number`; of all rows if that is not known.

    `rows` are those that are present, by key; `pages` has the page of each, in the order of keys.
    """
    keys = sorted(rows)
    # The pages have no keys of their own, so they fit only the rows that they were written for.
    placed = zip(keys, pages, strict=True) if len(keys) == len(pages) else ()
    there = {key for key, page in placed if page == number}
    texts = {key: _texts(row) for key, row in rows.items()}
    holders = Counter(text for own in texts.values() for text in own)
    known = (
        sorted((text for text in texts[key] if holders[text] == 1), key=len, reverse=True)
        for key in keys
        if key in there or not there
    )
    return [own[:MOST_TEXTS] for own in known if own][:MOST_ROWS]


def count_rows(rows: Sequence[RowTexts], text: str, markup: str) -> tuple[int, int]:
    """The number of rows that stand on a page as a person sees it, and of those in scripts only.

    `text` is the page's text; addresses and other attributes are looked for in its markup.
    """
    seen = f"{text}\n{unescape(UNSEEN.sub(' ', markup))}"
    hidden = [own for own in rows if not any(_stands(part, seen) for part in own)]
    scripted = sum(any(_in_scripts(part, markup) for part in own) for own in hidden)
    return len(rows) - len(hidden), scripted


def _texts(row: Sequence[Scalar]) -> set[str]:
    """The texts of a row that may be looked for."""
    texts = {_without_host(value) for value in row if isinstance(value, str)}
    return {text for text in texts if SHORTEST <= len(text) <= LONGEST}


def _without_host(text: str) -> str:
    """An address as a page writes it: mostly without its host."""
    if not text.startswith(("http://", "https://")):
        return text
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _stands(text: str, page: str) -> bool:
    """Whether a text is on a page, and not only as a part of longer words."""
    at = page.find(text)
    for _ in range(MOST_PLACES):
        if at < 0:
            return False
        end = at + len(text)
        inner = text[0].isalnum() and at > 0 and page[at - 1].isalnum()
        if not inner and not (text[-1].isalnum() and page[end : end + 1].isalnum()):
            return True
        at = page.find(text, at + 1)
    return False


def _in_scripts(text: str, markup: str) -> bool:
    """Whether a text is anywhere in the markup, also in the forms in which JSON writes it."""
    escaped = json.dumps(text)[1:-1]
    return any(form in markup for form in {text, escaped, escaped.replace("/", "\\/")})
