"""The names of the attributes that livedata derives, and which of them does what CSS may not."""

from __future__ import annotations

import re
from typing import Final

PREFIX: Final = "livedata-"
CELLS: Final = "livedata-cells"
HAS: Final = "livedata-has"
HEADER: Final = "livedata-header"
INDEX: Final = "livedata-index"
ROW: Final = "livedata-row"
TERM: Final = "livedata-term"
UNNUMBERED: Final = "livedata-unnumbered"
UNNUMBERED_TERM: Final = "livedata-unnumbered-term"
DERIVED: Final = (CELLS, HAS, HEADER, INDEX, ROW, TERM, UNNUMBERED, UNNUMBERED_TERM)
"""All of them; any other name that begins so is on no element."""


def is_derived(name: str) -> bool:
    """Whether an attribute is livedata's to derive, so that the page's own does not count."""
    return name.lower().startswith(PREFIX)


_LAST: Final = re.compile(r"[^\s>+~'\"]*$")  # a value in quotes may hold anything
_TAG: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9-]*")
_PLACE: Final = re.compile(
    r"(?i::(?:(?:nth-child|nth-of-type)\(\s*([1-9][0-9]{0,4})\s*\)|first-(?:child|of-type)\b))"
)
_HAS: Final = re.compile(r"(?i::has)\(\s*([a-zA-Z][a-zA-Z0-9-]*)\s*\)")
_OF_PLACES: Final = re.compile(r":(?:nth|last|only|first)-", re.IGNORECASE)
_SIBLING: Final = re.compile(r"[+~]\s*([a-zA-Z][a-zA-Z0-9-]*)")


def advice(before: str, rest: str) -> str:
    """What to write instead, "" if nothing does the same.

    ``rest`` is the selector from its unsupported part on, ``before`` all in front of that.
    """
    element = _last_compound(before)
    tag = _tag(element)
    sibling = _SIBLING.match(rest)
    if sibling is not None:
        return _for_sibling(tag, sibling[1])
    inside = _HAS.match(rest)
    if inside is not None and (tag, inside[1].lower()) != ("tr", "td"):
        name = inside[1].lower()
        return f"write {element}[{HAS}~='{name}'] for those with an element {name} in them"
    place = _PLACE.match(rest)
    ways = []
    if tag == "tr" and place is None:
        return f"write {element}[{ROW}='data'] for the rows that are neither header nor footer"
    if tag in {"td", "th"}:
        ways.append(f"{element}[{HEADER}='Price'] for the cell below a header")
    if tag in {"dt", "dd"}:
        ways.append(f"dd[{TERM}='Price'] for what stands behind a term")
    if place is not None:
        number = place[1] or "1"
        ways.append(f"{element}[{INDEX}='{number}'] for number {number} of the siblings of one tag")
    elif ways or _OF_PLACES.match(rest):
        ways.append(f"{element}[{INDEX}='2'] for the second of the siblings of one tag")
    return f"write {', or '.join(ways)}" if ways else ""


def _for_sibling(tag: str, sibling: str) -> str:
    if sibling.lower() == "dd":
        return f"write dd[{TERM}='Price'] for what stands behind a term"
    if sibling.lower() == tag:
        return f"write {sibling}[{INDEX}='2'] for the second of the siblings of one tag"
    return ""


def _last_compound(before: str) -> str:
    match = _LAST.search(before.rstrip())
    element = "" if match is None else match.group()
    return element if element.count("[") == element.count("]") else ""


def _tag(element: str) -> str:
    match = _TAG.match(element)
    return "" if match is None else match.group().lower()
