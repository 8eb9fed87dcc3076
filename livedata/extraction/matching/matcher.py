"""Which elements a selector matches: as ``querySelectorAll`` says, in linear time.

Each compound (one element's tag, classes...) is left to the parser's own engine, over the whole
page, which backtracks only over combinators. The combinators are joined here from left to right:
step by step, each element above is looked at once. No selector and no page can make that longer
than elements times steps, however often fields are read; and all of it is counted as work.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from livedata.extraction.derived_names import is_derived
from livedata.extraction.matching.class_index import ClassIndex
from livedata.extraction.matching.css import to_css
from livedata.extraction.matching.derived import DerivedAttributes
from livedata.extraction.selectors import AttributeTest, Compound
from livedata.extraction.work import TooMuchWork

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from livedata.extraction.selectors import Selector
    from livedata.extraction.text import Hidden
    from livedata.extraction.work import Work

# What the parser's engine does in the time in which one node is looked at here, as measured.
_TAGS_PASSED: Final = 6
_TAGS_TESTED: Final = 16
_CHARACTERS_COMPARED: Final = 20
_MOST_AT_ONCE: Final = 200_000  # the engine does not let others run meanwhile
LARGE: Final = 100_000
"""The characters from which on a page its tags and attributes are counted, and its classes known.

Of a smaller one the count is guessed: counting would take longer than most of what is asked.
"""
_TAG: Final = 8  # characters of a page for each of its tags


class _Step(Struct, frozen=True):
    """A compound, also as the parser's engine takes it.

    `compared` are the attributes that it reads, for each of its tests; `by_class` says that it
    names nothing but classes and a tag; `derived` are those of its attributes that no page has.
    """

    compound: Compound
    child: bool
    css: str
    tests: int
    compared: tuple[str, ...]
    by_class: bool
    derived: tuple[str, ...]


@lru_cache(maxsize=4096)
def _steps(selector: Selector) -> tuple[_Step, ...]:
    return tuple(_step(step.compound, step.child) for step in selector.steps)


def _step(compound: Compound, child: bool) -> _Step:
    compared = [test.name for test in compound.attributes if test.operator]
    compared += ["class"] * len(compound.classes) + ["id"] * len(compound.ids)
    tests = len(compound.attributes) + len(compound.classes) + len(compound.ids)
    by_class = bool(compound.classes) and not (compound.ids or compound.attributes)
    derived = tuple(test.name for test in compound.attributes if is_derived(test.name))
    return _Step(compound, child, to_css(compound), tests, tuple(compared), by_class, derived)


class Matcher:
    """The matches of one tree, remembered by selector; holds no node that it need not.

    ``hidden`` tells what of the page is not seen, once the text of an element is read.
    """

    def __init__(
        self, tree: LexborHTMLParser, markup: str, work: Work, hidden: Callable[[], Hidden]
    ) -> None:
        self._tree = tree
        self._root = tree.root
        self._length = len(markup)
        self._large = self._length > LARGE
        self._tags = markup.count("<") if self._large else self._length // _TAG
        self._work = work
        self._answered: tuple[str, list[LexborNode]] = "", []
        self._selected: dict[str, list[LexborNode]] = {}
        self._derived = DerivedAttributes(tree.root, self._tags, work, hidden)
        self._lengths: dict[str, int] = {}
        self._classes: ClassIndex | None = None
        self._scopes: set[int] = set()
        self._firsts: dict[str, dict[int, LexborNode]] = {}
        self._matched: dict[str, set[int]] = {}

    def select(self, selector: Selector, within: LexborNode | None = None) -> list[LexborNode]:
        """All matches in document order, of the page or strictly below ``within``.

        What a selection of the page finds are the containers that `first` is then quick for.
        """
        if within is None:
            nodes = self._selection(selector)
            scopes = {node.mem_id for node in nodes}
            # The index of each field is by container; other containers make it useless.
            if scopes != self._scopes:
                self._scopes = scopes
                self._firsts.clear()
            return nodes
        last = _steps(selector)[-1]
        self._derive(last, selector)
        here = within.mem_id
        inside = [node for node in within.css(last.css) if node.mem_id != here]
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
            return next(iter(self._selection(selector)), None)
        here = within.mem_id
        if here not in self._scopes:
            return next(iter(self.select(selector, within)), None)
        firsts = self._firsts.get(selector.text)
        if firsts is None:
            firsts = self._firsts[selector.text] = self._index(selector)
        return firsts.get(here)

    def derive(self, attribute: str, selector: Selector) -> None:
        """Write an attribute of livedata's own onto the elements that a selector may match."""
        tag = selector.steps[-1].compound.tag
        self._lengths[attribute] = self._derived.write(attribute, tag, selector.text)

    def _derive(self, step: _Step, selector: Selector) -> None:
        for name in step.derived:
            self._lengths[name] = self._derived.write(name, step.compound.tag, selector.text)

    def _selection(self, selector: Selector) -> list[LexborNode]:
        """The matches of what is asked of the page as a whole: items and links, more than once."""
        if selector.text not in self._selected:
            self._selected[selector.text] = self._everywhere(selector)
        return self._selected[selector.text]

    def _everywhere(self, selector: Selector) -> list[LexborNode]:
        steps = _steps(selector)
        matches = self._matching(steps[0], selector)
        for step in steps[1:]:
            if not matches:
                break
            nodes = self._matching(step, selector)
            # Before it is done, or the last step goes far over the limit.
            self._work.spend(len(nodes) + len(matches), selector.text)
            above = {node.mem_id for node in matches}
            if step.child:
                matches = _children(nodes, above)
            else:
                matches, passed = _descendants(nodes, above)
                self._work.spend(passed, selector.text)
        return matches

    def _matching(self, step: _Step, selector: Selector) -> list[LexborNode]:
        """The elements that one compound matches."""
        if step.by_class and self._large:
            if self._classes is None:
                self._classes = ClassIndex(self._tree, self._work, selector.text)
            return self._classes.matching(step.compound, selector.text)
        return self._engine(step, selector)

    def _engine(self, step: _Step, selector: Selector) -> list[LexborNode]:
        if self._root is None:
            return []
        self._derive(step, selector)
        if step.css == self._answered[0]:  # "* * *", or "li b" after "li a"
            return self._answered[1]
        cost = self._tags // _TAGS_PASSED + step.tests * self._tags // _TAGS_TESTED
        if self._large or step.derived:
            compared = sum(self._characters(name, selector) for name in step.compared)
        else:
            compared = len(step.compared) * self._length
        cost += compared // _CHARACTERS_COMPARED
        if cost > _MOST_AT_ONCE:
            raise TooMuchWork(selector.text, _MOST_AT_ONCE)
        self._work.spend(cost, selector.text)
        nodes = self._root.css(step.css)
        self._work.spend(len(nodes), selector.text)
        self._answered = step.css, nodes
        return nodes

    def _characters(self, name: str, selector: Selector) -> int:
        """The characters of all values of an attribute on the page."""
        if name not in self._lengths:
            named = Compound(None, (), (), (AttributeTest(name, "", ""),))
            having = self._engine(_step(named, child=False), selector)
            self._work.spend(2 * len(having), selector.text)
            self._lengths[name] = sum(len(node.attrs.get(name) or "") for node in having)
        return self._lengths[name]

    def _index(self, selector: Selector) -> dict[int, LexborNode]:
        """The first match below each container, by one walk upwards from each match."""
        firsts: dict[int, LexborNode] = {}
        seen: set[int] = set()
        scopes = self._scopes
        matches = self._everywhere(selector)
        for node in matches:
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
        self._work.spend(len(matches) + len(seen), selector.text)
        return firsts


def _children(nodes: list[LexborNode], above: set[int]) -> list[LexborNode]:
    """The nodes whose parent is one of ``above``."""
    parents = ((node, node.parent) for node in nodes)
    return [node for node, parent in parents if parent is not None and parent.mem_id in above]


def _descendants(nodes: list[LexborNode], above: set[int]) -> tuple[list[LexborNode], int]:
    """The nodes that lie below one of ``above``, and how many others were looked at."""
    known: dict[int, bool] = dict.fromkeys(above, True)
    below = []
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
            below.append(node)
    return below, len(known)
