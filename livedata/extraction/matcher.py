"""Which elements a selector matches: as ``querySelectorAll`` says, in linear time.

Each compound (one element's tag, classes...) is left to the parser's own engine, over the whole
page, which backtracks only over combinators. The combinators are joined here from left to right:
step by step, each element above is looked at once. No selector and no page can make that longer
than elements times steps, however often fields are read.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from livedata.extraction.selectors import to_css

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from livedata.extraction.selectors import Selector


@lru_cache(maxsize=4096)
def _compounds(selector: Selector) -> tuple[tuple[str, bool], ...]:
    return tuple((to_css(step.compound), step.child) for step in selector.steps)


class Matcher:
    """The matches of one tree, remembered by selector; holds no node that it need not."""

    def __init__(self, root: LexborNode | None) -> None:
        self._root = root
        self._scopes: set[int] = set()
        self._firsts: dict[str, dict[int, LexborNode]] = {}
        self._matched: dict[str, set[int]] = {}

    def select(self, selector: Selector, within: LexborNode | None = None) -> list[LexborNode]:
        """All matches in document order, of the page or strictly below ``within``.

        What a selection of the page finds are the containers that `first` is then quick for.
        """
        if within is None:
            found = self._everywhere(selector)
            scopes = {node.mem_id for node in found}
            # The index of each field is by container; other containers make it useless.
            if scopes != self._scopes:
                self._scopes = scopes
                self._firsts.clear()
            return found
        last = _compounds(selector)[-1][0]
        here = within.mem_id
        inside = [node for node in within.css(last) if node.mem_id != here]
        if len(selector.steps) == 1:
            return inside
        matched = self._matched.get(selector.text)
        if matched is None:
            matched = {node.mem_id for node in self._everywhere(selector)}
            self._matched[selector.text] = matched
        return [node for node in inside if node.mem_id in matched]

    def first(self, selector: Selector, within: LexborNode | None = None) -> LexborNode | None:
        """The first match in document order, of the page or strictly below ``within``."""
        if within is None:
            return next(iter(self._everywhere(selector)), None)
        here = within.mem_id
        if here not in self._scopes:
            return next(iter(self.select(selector, within)), None)
        firsts = self._firsts.get(selector.text)
        if firsts is None:
            firsts = self._firsts[selector.text] = self._index(selector)
        return firsts.get(here)

    def _everywhere(self, selector: Selector) -> list[LexborNode]:
        if self._root is None:
            return []
        steps = _compounds(selector)
        found = self._root.css(steps[0][0])
        for css, child in steps[1:]:
            if not found:
                break
            above = {node.mem_id for node in found}
            nodes = self._root.css(css)
            found = _children(nodes, above) if child else _descendants(nodes, above)
        return found

    def _index(self, selector: Selector) -> dict[int, LexborNode]:
        """The first match below each container, by one walk upwards from each match."""
        firsts: dict[int, LexborNode] = {}
        seen: set[int] = set()
        scopes = self._scopes
        for node in self._everywhere(selector):
            above = node.parent
            while above is not None:
                here = above.mem_id
                # An earlier match came this way: all containers above have their first already.
                # So each element is visited once, however many matches there are.
                if here in seen:
                    break
                seen.add(here)
                if here in scopes:
                    firsts[here] = node
                above = above.parent
        return firsts


def _children(nodes: list[LexborNode], above: set[int]) -> list[LexborNode]:
    found = []
    for node in nodes:
        parent = node.parent
        if parent is not None and parent.mem_id in above:
            found.append(node)
    return found


def _descendants(nodes: list[LexborNode], above: set[int]) -> list[LexborNode]:
    known: dict[int, bool] = dict.fromkeys(above, True)
    found = []
    for node in nodes:
        parent = node.parent
        passed = []
        answer = False
        while parent is not None:
            here = parent.mem_id
            before = known.get(here)
            if before is not None:
                answer = before
                break
            passed.append(here)
            parent = parent.parent
        # The answer holds for all that was passed, so that no element is climbed twice.
        for here in passed:
            known[here] = answer
        if answer:
            found.append(node)
    return found
