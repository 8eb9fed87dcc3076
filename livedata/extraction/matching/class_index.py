"""The elements of a page by their classes."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from livedata.extraction.selectors import lower

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from livedata.extraction.selectors import Compound
    from livedata.extraction.work import Work

_BYTES_INDEXED: Final = 64  # of a text of class names, in the time in which one node is looked at
_BYTES_SEARCHED: Final = 300
_SPACES: Final = bytes.maketrans(b"\t\n\f\r", b"    ")


class ClassIndex:
    """The elements of a page by their classes.

    A page has few values of the attribute for many elements: each is kept once, in one text that
    is searched. An index of the names would take 300 MB for a page that has a million of them.
    """

    def __init__(self, tree: LexborHTMLParser, work: Work, selector: str) -> None:
        self._work = work
        self._any_case = is_quirky(tree)
        self._nodes = tree.css("[class]")
        places: dict[str, list[int]] = {}
        for place, node in enumerate(self._nodes):
            places.setdefault(node.attrs.get("class") or "", []).append(place)
        self._places = list(places.values())
        # NUL is in no value and in no name, so nothing is found across two values.
        values = [b" %b \0" % value.encode() for value in places]
        self._starts = list(accumulate(map(len, values), initial=0))
        text = b"".join(values).translate(_SPACES)
        self._text = text.lower() if self._any_case else text
        visited = len(self._nodes) + 3 * len(values) + len(self._text) // _BYTES_INDEXED
        work.spend(visited, selector)

    def matching(self, compound: Compound, selector: str) -> list[LexborNode]:
        """The elements of all classes and the tag of a compound, in document order."""
        first, *others = sorted(set(compound.classes))
        values = self._having(first, selector)
        for name in others:
            values &= self._having(name, selector)
        places = [place for value in values for place in self._places[value]]
        self._work.spend(2 * len(places), selector)
        nodes = [self._nodes[place] for place in sorted(places)]
        if compound.tag is not None:
            nodes = [node for node in nodes if node.tag == compound.tag]
        return nodes

    def _having(self, name: str, selector: str) -> set[int]:
        """The values that have a class."""
        word = b" %b " % (lower(name) if self._any_case else name).encode()
        values = set()
        offset = self._text.find(word)
        while offset >= 0:
            value = bisect_right(self._starts, offset) - 1
            values.add(value)
            offset = self._text.find(word, self._starts[value + 1])
        self._work.spend(len(values) + len(self._text) // _BYTES_SEARCHED, selector)
        return values


def is_quirky(tree: LexborHTMLParser) -> bool:
    """Whether the page has no doctype of today: then its classes are the same in any case."""
    probe = tree.create_node("livedata-probe")
    probe.attrs["class"] = "A"
    root = tree.root
    if root is None:
        return False
    root.insert_child(probe)
    inserted = tree.css_first("livedata-probe")
    quirky = tree.css_first("livedata-probe.a") is not None
    if inserted is not None:
        inserted.decompose()
    return quirky
