"""A page as columns of numbers: what each element is, where it ends, and how much it holds.

Elements are counted in document order, so all below one of them stand in a row behind it, and how
much they hold is one subtraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from livedata.extraction.derived_names import HEADER, ROW, TERM
from livedata.extraction.lists.signatures import ElementSignature, Signatures
from livedata.extraction.matching.matcher import Matcher
from livedata.extraction.selectors import parse
from livedata.extraction.strikes import Strikes
from livedata.extraction.text import Hidden, names
from livedata.extraction.work import TooMuchWork, Work

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from livedata.extraction.page import Page

_UNSEEN: Final = names(
    "script style template noscript head iframe noembed noframes svg option datalist"
)
_ASIDE: Final = frozenset(("nav", "aside", "footer"))
_ASIDE_ROLES: Final = frozenset(("navigation", "complementary", "contentinfo", "menu", "menubar"))


_MOST: Final = 0.5
"""What holds more than this of what a page says beside its links is its middle."""
_DERIVED: Final = {"td": HEADER, "th": HEADER, "tr": ROW, "dd": TERM}
"""The derived attribute that tells the elements of a tag apart."""


class Survey(Struct, frozen=True):
    """The elements of a page that a person can see.

    `parents` and `ends` are numbers of elements: all below `n` are those from `n + 1` to before
    `ends[n]`. `indexes` count from 1 among the siblings of a tag. `texts`, `links` and `images` are
    sums over all elements before each one, `linked` is that of the texts in links. `aside` says
    which stand in a menu or at the edge of the page. `derived` are the attributes that livedata
    derives of table cells, rows and descriptions, with their values. `hidden` are elements that
    hide what is below them, and themselves.
    """

    page: Page
    nodes: Sequence[LexborNode]
    signatures: Sequence[ElementSignature]
    parents: Sequence[int]
    ends: Sequence[int]
    indexes: Sequence[int]
    own_texts: Sequence[int]
    aside: Sequence[bool]
    derived: Mapping[int, tuple[str, str]]
    hidden: Set[int]
    texts: Sequence[int]
    linked: Sequence[int]
    links: Sequence[int]
    images: Sequence[int]
    matcher: Matcher

    def __len__(self) -> int:
        return len(self.nodes)

    def below(self, number: int) -> range:
        """The elements below one, in document order."""
        return range(number + 1, self.ends[number])

    def shown_below(self, number: int) -> Iterator[int]:
        """The elements below one, in document order, without what is hidden there."""
        below, end = number + 1, self.ends[number]
        while below < end:
            if below in self.hidden:
                below = self.ends[below]
            else:
                yield below
                below += 1

    def above(self, number: int) -> Iterator[int]:
        """The ancestors of an element, inmost first."""
        while (number := self.parents[number]) >= 0:
            yield number

    def held(self, sums: Sequence[int], number: int) -> int:
        """What an element and all below it hold, by one of the sums."""
        return sums[self.ends[number]] - sums[number]


def survey(page: Page) -> Survey:
    """The survey of a page."""
    # With work of its own: what proposes a source takes nothing from what reads the page.
    matcher = Matcher(page.tree, page.markup, Work(), lambda: page.hidden)
    _derive(matcher)
    strikes = Strikes([style.text() or "" for style in page.tree.css("style")])
    walk = _Walk(page.hidden, Signatures(strikes))
    root = page.tree.root
    for node in () if root is None else root.traverse(include_text=True):
        walk.meet(node)
    ends = _ends(walk.parents)
    texts = list(accumulate(walk.own_texts, initial=0))
    linked = list(accumulate(_linked(walk), initial=0))
    return Survey(
        page,
        walk.nodes,
        walk.signatures,
        walk.parents,
        ends,
        walk.indexes,
        walk.own_texts,
        _aside(walk, ends, texts, linked),
        walk.derived,
        walk.hidden,
        texts,
        linked,
        list(accumulate((signature.tag == "a" for signature in walk.signatures), initial=0)),
        list(accumulate((signature.tag == "img" for signature in walk.signatures), initial=0)),
        matcher,
    )


class _Walk:
    """Notes each element that a person can see, in document order."""

    def __init__(self, hidden: Hidden, signatures: Signatures) -> None:
        self.nodes: list[LexborNode] = []
        self.signatures: list[ElementSignature] = []
        self.parents: list[int] = []
        self.indexes: list[int] = []
        self.own_texts: list[int] = []
        self.derived: dict[int, tuple[str, str]] = {}
        self.hidden: set[int] = set()
        self._hidden = hidden
        self._signatures = signatures
        self._numbers: dict[int, int] = {}
        self._counts: dict[tuple[int, str], int] = {}

    def meet(self, node: LexborNode) -> None:
        """Note an element, or the length of a text."""
        tag, above = node.tag, node.parent
        parent = -1 if above is None else self._numbers.get(above.mem_id, -1)
        if tag == "-text":
            if parent >= 0:
                self.own_texts[parent] += len((node.text_content or "").strip())
        # What is below an unseen element is unseen: its parent has no number.
        elif tag and tag not in _UNSEEN and tag[0].isalpha() and (parent >= 0 or not self.nodes):
            self._add(node, tag, parent)

    def _add(self, node: LexborNode, tag: str, parent: int) -> None:
        number, attributes = len(self.nodes), node.attributes
        signature = self._signatures.of(tag, attributes)
        if tag in _DERIVED and (value := attributes.get(_DERIVED[tag])):
            self.derived[number] = _DERIVED[tag], value
        self._numbers[node.mem_id] = number
        if self._hidden.hides(node.mem_id):
            self.hidden.add(number)
        index = self._counts.get((parent, tag), 0) + 1
        self._counts[parent, tag] = index
        self.nodes.append(node)
        self.signatures.append(signature)
        self.parents.append(parent)
        self.indexes.append(index)
        self.own_texts.append(0)


def _derive(matcher: Matcher) -> None:
    """Have the derived attributes written onto the tree, as far as there is work left for them."""
    for tag, name in _DERIVED.items():
        with suppress(TooMuchWork):
            matcher.select(parse(f"{tag}[{name}]"))


def _ends(parents: Sequence[int]) -> list[int]:
    ends = list(range(1, len(parents) + 1))
    for number in range(len(parents) - 1, 0, -1):
        parent = parents[number]
        if parent >= 0 and ends[parent] < ends[number]:
            ends[parent] = ends[number]
    return ends


def _linked(walk: _Walk) -> Iterator[int]:
    """The length of the text of each element that stands in a link."""
    inside: list[bool] = []
    for signature, parent in zip(walk.signatures, walk.parents, strict=True):
        inside.append(signature.tag == "a" or (parent >= 0 and inside[parent]))
    return (own if link else 0 for own, link in zip(walk.own_texts, inside, strict=True))


def _aside(
    walk: _Walk, ends: Sequence[int], texts: Sequence[int], linked: Sequence[int]
) -> list[bool]:
    """Whether each element stands in a menu or at the edge of the page.

    By its name alone none does that holds most of what the page says beside its links: some pages
    call all that they have a menu.
    """
    said = [text - link for text, link in zip(texts, linked, strict=True)]
    aside: list[bool] = []
    for number, (signature, parent) in enumerate(zip(walk.signatures, walk.parents, strict=True)):
        most = said[ends[number]] - said[number] > _MOST * said[-1]
        edge = (
            signature.tag in _ASIDE
            or signature.role in _ASIDE_ROLES
            or (signature.is_boilerplate and not most)
        )
        aside.append(edge or (parent >= 0 and aside[parent]))
    return aside
