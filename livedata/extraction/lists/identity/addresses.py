"""Addresses that lead to the same record and differ by where and when it was seen.

`/jobs/77?position=3&session=a1` is another address once a record is added above, or a visit later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final
from urllib.parse import unquote, urldefrag

from livedata.extraction.lists.identity.natures import counts_along

_PARAMETER: Final = re.compile(r"[?&;/]([^?&;/=#]+)=([^?&;/#]*)")
_OF_A_VISIT: Final = re.compile(
    r"search_?key|.*session_?(?:id)?|s_?id|phpsessid|jsessionid|utm_\w+|.*click_?(?:id)?|.*tracking.*"
    r"|trk\w*|[a-z]{1,2}clid|srsltid|pf_rd_\w+|pd_rd_\w+|qid|sr|ref_?id",
    re.IGNORECASE,
)
"""Names of parameters that say which visit, or which search, led there."""
_OF_A_CLICK: Final = re.compile(r"utm_\w+|[a-z]{1,2}clid|srsltid", re.IGNORECASE)
_LONG_ID: Final = 12
_OF_A_PLACE: Final = re.compile(
    r"ref|token|.*(?:position|pos|rank|idx|index|row|place|offset)|page_?num(?:ber)?|page|start"
    r"|.*_?nonce|ts|timestamp|rnd|random",
    re.IGNORECASE,
)
"""Names that may say so too, or who the record is."""
_SECTION: Final = re.compile(
    r"(?P<before>[^?]*/[^/?]*[A-Za-z][-_]?)(?P<number>\d{1,9})(?P<after>\.[A-Za-z]+)"
)
"""The address of a file that has a number behind its name."""
_TOKEN: Final = re.compile(r"(?=.*[0-9])(?=.*[A-Za-z])[\w+/=.-]{10,}")
_SESSION: Final = re.compile(r"[0-9a-f]{32}")
"""What is the same in all addresses of a page, and made for the one who looks at it."""
_NUMBERED: Final = re.compile(r"[A-Za-z]*[-_]?\d+")
_SUFFICES: Final = 0.8


def moving(addresses: Sequence[str], first: int) -> str | None:
    """The parameter by which addresses follow their place in the list or the visit, or None.

    The `first` of the addresses are of the first page, the others of the second one.
    """
    parameters = [_parameters(address) for address in addresses]
    different = len(set(addresses))
    if _follow_the_last(addresses):
        return "the part after #"
    for name in dict.fromkeys(name for each in parameters for name in each):
        values = [each.get(name, "") for each in parameters]
        others = {_without(address, name) for address in addresses}
        if _OF_A_VISIT.fullmatch(name) and len(others) > different / 2:
            return name
        if len(others) >= _SUFFICES * different:
            if _is_of_today(name, values, first):
                return name
        elif _OF_A_PLACE.fullmatch(name) and counts_along(values):
            return name
    return None


def of_a_visit(address: str) -> str | None:
    """The parameter of an address that only the visit of one moment had, or None."""
    for name, value in _parameters(address).items():
        # An id of three digits may be that of a station: what a visit is given is long.
        long = len(value) >= _LONG_ID
        if _OF_A_CLICK.fullmatch(name) or (long and _OF_A_VISIT.fullmatch(name)):
            return name
    return None


def number_sections(addresses: Sequence[str], page: str) -> bool:
    """Whether addresses number the sections of one text, in the order of their list.

    The first one follows the page that lists them: node264.html, node265.html, node270.html on
    node263.html. Once a section is added above, all of them are those of others.
    """
    matches = [_SECTION.fullmatch(urldefrag(address).url) for address in (page, *addresses)]
    sections = [section for section in matches if section is not None]
    numbers = [int(section["number"]) for section in sections]
    steps = [after - before for before, after in pairwise(numbers)]
    return (
        len(steps) == len(addresses) > 2
        and len({(section["before"], section["after"]) for section in sections}) == 1
        and steps[0] == 1
        and min(steps) > 0
    )


def _follow_the_last(addresses: Sequence[str]) -> bool:
    """Whether the parts after # are numbers that no record needs: of the last answer to each."""
    parts = [urldefrag(address) for address in addresses]
    numbered = [part.fragment for part in parts if _NUMBERED.fullmatch(part.fragment)]
    others = len({part.url for part in parts})
    return (
        len(set(numbered)) > 1
        and len(numbered) > len(parts) / 2
        and others >= _SUFFICES * len(set(addresses))
    )


def _is_of_today(name: str, values: Sequence[str], first: int) -> bool:
    """Whether a parameter that no record needs is another one on another day."""
    before, after = set(values[:first]), set(values[first:])
    follows = len(before) == 1 and len(after) == 1 and before != after
    differs = len(set(values)) > 1
    return (
        follows
        or bool(_OF_A_PLACE.fullmatch(name))
        or counts_along(values)
        or (differs and all(map(_TOKEN.fullmatch, values)))
        or (len(before) == 1 and all(map(_SESSION.fullmatch, values)))
    )


def _parameters(address: str) -> Mapping[str, str]:
    return {unquote(name): unquote(value) for name, value in _PARAMETER.findall(address)}


def _without(address: str, name: str) -> str:
    def kept(parameter: re.Match[str]) -> str:
        return "" if unquote(parameter[1]) == name else parameter[0]

    return _PARAMETER.sub(kept, address)
