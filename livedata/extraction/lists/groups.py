"""Groups of elements that one selector names: every element votes for the selectors that name it.

So each group has a selector within the supported subset, and its members are known. Elements of
one signature in one surrounding vote together, so a page takes as long as it is varied, not as it
is long.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from msgspec import Struct

from livedata.extraction.lists.signatures import ElementSignature, named_options
from livedata.extraction.lists.survey import Survey
from livedata.extraction.text import names

LEAST: Final = 3
"""Fewer elements than this are no list."""
MAX_KINDS: Final = 4_000
"""So many kinds of elements vote, the most frequent first."""

_NEVER: Final = names(
    "html body br hr input select textarea button label form b i em strong small sup sub "
    "code img source picture video audio canvas thead tbody tfoot colgroup col caption th "
    "h1 main"
)
_NONE: Final = ("", "")
_BARE: Final = 0.8
"""What a tag alone costs; more if a page has it for all that is."""
_COMMON_BARE: Final = 1.3
_ROW: Final = 1.05
"""A class says better which table is meant."""
_COMMON: Final = names("div span a p li td dd ul")
_CHILD, _WITHIN, _GRAND = 0.9, 0.7, 0.8
"""What a step more costs, beside what it names."""


class ElementGroup(Struct, frozen=True, eq=False):
    """The elements that a selector matches, in document order, and what the selector costs.

    `strict` is another one for the same elements that names their parents: a selector that names
    what is around them matches what stands deeper too.
    """

    selector: str
    cost: float
    members: list[int]
    strict: str = ""


_Kind = tuple[
    ElementSignature, ElementSignature | None, ElementSignature | None, ElementSignature | None, str
]
"""The signature of an element, its parent, its grandparent, and the nearest above that has a name;
of a table row also of which kind it is."""


def groups(survey: Survey) -> list[ElementGroup]:
    """All groups of a page that are no part of another one's members, each once."""
    kinds = _kinds(survey)
    votes: defaultdict[str, list[int]] = defaultdict(list)
    costs: dict[str, float] = {}
    frequent = sorted(range(len(kinds)), key=lambda number: -len(kinds[number][1]))[:MAX_KINDS]
    for number in sorted(frequent):
        for selector, cost in _selectors(*kinds[number][0]):
            votes[selector].append(number)
            costs[selector] = cost
    # Selectors that the same kinds vote for name the same elements: the cheapest is the best.
    best: dict[tuple[int, ...], str] = {}
    strict: dict[tuple[int, ...], str] = {}
    for selector, voters in votes.items():
        for chosen in (best,) if _is_wide(selector) else (best, strict):
            known = chosen.get(tuple(voters))
            if known is None or (costs[selector], len(selector)) < (costs[known], len(known)):
                chosen[tuple(voters)] = selector
    kept = []
    for numbers, selector in best.items():
        members = sorted(member for number in numbers for member in kinds[number][1])
        if len(members) >= LEAST and not _nested(survey, members):
            kept.append(ElementGroup(selector, costs[selector], members, strict.get(numbers, "")))
    return kept


def _is_wide(selector: str) -> bool:
    """Whether a selector names what is anywhere below something."""
    return " " in selector.replace(" > ", "")


def _kinds(survey: Survey) -> list[tuple[_Kind, list[int]]]:
    kinds: defaultdict[_Kind, list[int]] = defaultdict(list)
    signatures, parents = survey.signatures, survey.parents
    anchors: list[ElementSignature | None] = []
    for number, signature in enumerate(signatures):
        parent = parents[number]
        anchor = None
        above = grand = None
        if parent >= 0:
            above = signatures[parent]
            anchor = above if _anchors(above) else anchors[parent]
            grand = signatures[parents[parent]] if parents[parent] >= 0 else None
        anchors.append(anchor)
        if signature.tag not in _NEVER:
            kinds[
                signature,
                above,
                grand,
                anchor,
                survey.derived.get(number, _NONE)[1] if signature.tag == "tr" else "",
            ].append(number)
    return list(kinds.items())


def _anchors(signature: ElementSignature) -> bool:
    """Whether a signature names one place on the page: what is below may be named by it."""
    return bool(signature.id) or signature.tag == "main"


def _selectors(
    signature: ElementSignature,
    parent: ElementSignature | None,
    grand: ElementSignature | None,
    anchor: ElementSignature | None,
    row: str,
) -> Iterator[tuple[str, float]]:
    row_like = signature.tag in {"tr", "table"}
    bare = _COMMON_BARE if signature.tag in _COMMON else _ROW if row_like else _BARE
    own = [(signature.bare, bare), *named_options(signature)[:5]]
    if row == "data":
        own.append(('tr[livedata-row="data"]', _ROW + 0.1))
        if signature.classes:
            own.append(("tr[class]", 1.3))
    contexts = [("", 0.0)]
    if parent is not None:
        names = _context_names(parent)
        contexts += [(f"{name} > ", cost + _CHILD) for name, cost in names]
        if grand is not None:
            inner = names[:2]
            for outer, cost in _context_names(grand)[:3]:
                contexts += [
                    (f"{outer} > {name} > ", cost + more + _GRAND + _CHILD) for name, more in inner
                ]
                contexts.append((f"{outer} ", cost + _WITHIN + 0.3))
    if anchor is not None:
        name = f"#{anchor.id}" if anchor.id else anchor.tag
        contexts.append((f"{name} ", _WITHIN + 0.4))
    for before, cost in dict(contexts).items():
        for compound, more in own:
            yield before + compound, cost + more


def _context_names(signature: ElementSignature) -> list[tuple[str, float]]:
    named = [(f"#{signature.id}", 0.5)] if signature.id else []
    return [*named, (signature.bare, 0.3), *named_options(signature)[:3]]


def _nested(survey: Survey, members: list[int]) -> bool:
    """Whether a member stands within another one."""
    ends = survey.ends
    return any(ends[member] > other for member, other in pairwise(members))
