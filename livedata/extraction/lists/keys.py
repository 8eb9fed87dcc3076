"""What tells the records of a list apart, tomorrow too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, Literal

from msgspec import Struct

from livedata.extraction.lists.columns import Column
from livedata.extraction.lists.readings import counts_along
from livedata.model.row import Scalar

LONGEST: Final = 140
_CODES: Final = re.compile(
    r"(?:.*_)?(?:id|sku|asin|isbn|ean|gtin|mpn|upc|number|no|nr|num|code|ref|reference|docket|case"
    r"|key|slug|article|model|symbol|ticker|doi|pmid|uuid)(?:_.*)?",
    re.IGNORECASE,
)
_TITLES: Final = re.compile(
    r"(?:.*_)?(?:title|name|term|heading|subject|label|package|module|text)(?:_\d+)?"
)
_DATED: Final = re.compile(
    r"\b\d{1,2}:\d\d\b|\bago\b|\b\d{4}-\d\d-\d\d|\b(?:yesterday|today|hours?|minutes?)\b",
    re.IGNORECASE,
)
_NOISE: Final = re.compile(
    r"[?&](?:search_?key|session|sid|phpsessid|jsessionid|token|ref|utm_\w+|click\w*|tracking\w*)=",
    re.IGNORECASE,
)

_IDS: Final = frozenset(("id", "data-index", "data-row", "data-position", "data-id"))

Why = Literal["not_filled", "not_unique", "counted", "too_long", "dated", "none"]


class Key(Struct, frozen=True):
    """The names of the columns that tell the records apart."""

    names: tuple[str, ...]


class NoKey(Struct, frozen=True):
    """Why no column does: of each that was near, what is wrong with it."""

    reasons: Mapping[str, Why]


def find_key(columns: Sequence[Column], rows: Sequence[Sequence[Scalar]]) -> Key | NoKey:
    """The key of rows, each with a value for each column: the one that will change the least."""
    values = {column.name: [row[at] for row in rows] for at, column in enumerate(columns)}
    reasons: dict[str, Why] = {}
    for column in sorted(columns, key=_rank):
        if column.kind != "string" or _is_image(column):
            continue
        why = _fault(column, values[column.name])
        if why is None:
            return Key((column.name,))
        reasons[column.name] = why
    for names in _pairs(columns, reasons):
        together = list(zip(*(values[name] for name in names), strict=True))
        if len(set(together)) == len(together):
            return Key(names)
    return NoKey(reasons)


def _rank(column: Column) -> tuple[int, float]:
    """Which columns are the better keys: addresses and numbers of articles before titles."""
    noisy = any(map(_NOISE.search, column.values.values()))
    if column.attribute is not None and not column.selector and not noisy:
        place = 0 if _CODES.fullmatch(column.name) else 2
    elif column.attribute == "href":
        place = 3 if noisy else 1
    elif _CODES.fullmatch(column.name):
        place = 2
    elif column.attribute == "livedata-term" or _TITLES.fullmatch(column.name):
        place = 4
    else:
        place = 5
    return place, _average(list(column.values.values()))


def _average(values: Sequence[str]) -> float:
    return sum(map(len, values)) / max(len(values), 1)


def _is_image(column: Column) -> bool:
    return column.name.startswith("image") or (column.attribute or "").endswith("src")


def _fault(column: Column, values: Sequence[Scalar]) -> Why | None:
    """Why a column is no key by itself; None if it is one."""
    if any(value is None for value in values):
        return "not_filled"
    texts = [str(value) for value in values]
    if max(map(len, texts), default=0) > LONGEST and not texts[0].startswith(("http:", "https:")):
        return "too_long"
    if len(set(texts)) < len(texts):
        return "not_unique"
    if (column.attribute in _IDS or texts[0].strip(" .)#").isdigit()) and counts_along(texts):
        return "counted"
    if sum(bool(_DATED.search(text)) for text in texts) > 0.5 * len(texts):
        return "dated"
    return None


def _pairs(columns: Sequence[Column], reasons: Mapping[str, Why]) -> Iterator[tuple[str, ...]]:
    """Two or three columns that are filled in all records, the better ones first."""
    full = [
        column.name
        for column in sorted(columns, key=_rank)
        if reasons.get(column.name) == "not_unique"
    ]
    yield from combinations(full[:6], 2)
    yield from combinations(full[:5], 3)
