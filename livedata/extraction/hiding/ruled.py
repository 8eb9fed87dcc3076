"""The elements of a page that rules of its own sheets hide, or may show again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from livedata.extraction.hiding.cascade import Said, Sheet, rules
from livedata.extraction.matching.class_index import is_quirky
from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import Compound

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from livedata.extraction.work import Work

_COUNTED_FOR: Final = "style"
# What these take in the time in which one node is looked at, as measured.
_CHARACTERS_READ: Final = 16
_CHARACTERS_PARSED: Final = 4  # of a sheet, with all its rules
_TAGS_TESTED: Final = 4
_ASKED: Final = 6  # nodes for an element of which is asked what is said of it


class Ruled:
    """Asks the rules of a page of its elements; each step raises `TooMuchWork`.

    `may_show_any` says that some rule may make any element visible.
    """

    def __init__(
        self, tree: LexborHTMLParser, tags: int, sheets: tuple[Sheet, ...], work: Work
    ) -> None:
        self._tree = tree
        self._tags = tags
        self._work = work
        self._spend(sum(len(sheet.text) for sheet in sheets) // _CHARACTERS_PARSED)
        self._rules = rules(sheets, any_case=is_quirky(tree))
        self.may_show_any = "*" in self._rules.keys("visibility", "shown")
        self._answers: dict[tuple[str, str, str], Sequence[Said]] = {}

    def said(self, others: Iterable[LexborNode]) -> Mapping[int, Sequence[Said]]:
        """What is said of each element that a rule hides, or makes visible, and of some others."""
        hiding = self._rules.keys("display", "hidden")
        hiding |= self._rules.keys("visibility", "hidden") | self._rules.keys("visibility", "shown")
        found = {}
        for nodes in (others, self._elements(hiding - {"*"})):
            for node in nodes:
                found[node.mem_id] = self._asked(node)
        return {element: said for element, said in found.items() if said}

    def _elements(self, keys: set[str]) -> Iterator[LexborNode]:
        """The elements that have one of the keys; some more than once."""
        tags = [key for key in keys if key[0] not in ".#"]
        for tag in tags:
            yield from self._find(to_css(Compound(tag, (), (), ())))
        if any(key[0] == "#" for key in keys):
            yield from self._having("id", keys)
        if any(key[0] == "." for key in keys):
            yield from self._having("class", keys)

    def _having(self, name: str, keys: set[str]) -> Iterator[LexborNode]:
        """The elements one of whose ids, or classes, is a key."""
        known: dict[str, bool] = {}
        for node in self._find(f"[{name}]"):
            value = node.attrs.get(name) or ""
            if value not in known:
                self._spend(1 + len(value) // _CHARACTERS_READ)
                parts = self._rules.parts("", *((value, "") if name == "id" else ("", value)))
                known[value] = not keys.isdisjoint(parts)
            if known[value]:
                yield node

    def _find(self, css: str) -> list[LexborNode]:
        self._spend(self._tags // _TAGS_TESTED)
        nodes = [] if self._tree.root is None else self._tree.root.css(css)
        self._spend(len(nodes))
        return nodes

    def _asked(self, node: LexborNode) -> Sequence[Said]:
        attributes = node.attributes
        looks = node.tag or "", attributes.get("id") or "", attributes.get("class") or ""
        answer = self._answers.get(looks)
        self._spend(_ASKED)
        if answer is None:
            parts = self._rules.parts(*looks)
            concerning = self._rules.concerning(parts)
            self._spend(len(concerning) + len(parts))
            answer = [rule.said for rule in concerning if rule.is_of(parts)]
            self._answers[looks] = answer
        return answer

    def _spend(self, nodes: int) -> None:
        self._work.spend(nodes, _COUNTED_FOR)
