"""The records of a page as pieces of its markup, to be put together in another way."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tests.lists.gold import Gold
from tests.lists.parts import upwards

_MARK: Final = "data-tests-unit"
_MARKED: Final = re.compile(rf' {_MARK}="[^"]*"')
_BEGUN: Final[dict[str | None, frozenset[str]]] = {"dt": frozenset(("dd",))}
"""What follows the first element of a record and is of it too."""


class Units(Struct, frozen=True):
    """A page between its records: `around` has one part more than there are records."""

    around: Sequence[str]
    records: Sequence[str]

    @property
    def markup(self) -> str:
        """The page as it was."""
        return self.joined(self.records)

    def joined(self, records: Sequence[str]) -> str:
        """The page with other records in the places of these."""
        return "".join(
            part for pair in zip(self.around, [*records, ""], strict=True) for part in pair
        )


def units(gold: Gold, tree: LexborHTMLParser) -> Units:
    """The records of a page with what belongs to them: a term with what is said of it."""
    elements = unit_elements(gold, tree)
    for number, parts in enumerate(elements):
        for part in parts:
            part.attrs[_MARK] = str(number)
    whole = tree.html or ""
    spans = []
    for number, parts in enumerate(elements):
        places = [match.start() for match in re.finditer(f' {_MARK}="{number}"', whole)]
        start = whole.rindex("<", 0, places[0])
        last = whole.rindex("<", 0, places[-1])
        spans.append((start, last + len(parts[-1].html or "")))
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(whole)]
    for parts in elements:
        for part in parts:
            del part.attrs[_MARK]
    return Units(
        [_plain(whole[end:start]) for end, start in zip(ends, starts, strict=True)],
        [_plain(whole[start:end]) for start, end in spans],
    )


def unit_elements(gold: Gold, tree: LexborHTMLParser) -> list[list[LexborNode]]:
    """The elements of each record that lies in no other one, the one that it begins with first."""
    result = [tree.css(selector) for selector in gold.records]
    every = {node.mem_id for nodes in result for node in nodes}
    outer = [
        [node for node in nodes if not every & set(upwards(node)) - {node.mem_id}]
        for nodes in result
    ]
    first, *others = [nodes for nodes in outer if nodes]
    begin = {node.mem_id for node in first}
    rest = {node.mem_id for nodes in others for node in nodes} - begin
    return [[node, *_following(node, begin, rest)] for node in first]


def _following(node: LexborNode, begin: set[int], rest: set[int]) -> Iterator[LexborNode]:
    """The elements after the first one of a record that are of it, up to the next record."""
    after = node.next
    while after is not None and after.mem_id not in begin:
        if after.mem_id in rest or after.tag in _BEGUN.get(node.tag, ()):
            yield after
        elif not after.tag.startswith("-"):  # type: ignore[union-attr]
            return
        after = after.next


def _plain(markup: str) -> str:
    return _MARKED.sub("", markup)
