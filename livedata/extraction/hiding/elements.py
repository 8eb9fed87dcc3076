"""The elements of a page that are hidden, as the page itself says: see `docs/cells.md`.

What says it are the attribute `hidden`, `display` and `visibility` in style attributes, and the
rules of the page's own sheets. First are found the elements that something hides; then is asked of
each what else is said of it, and what of that counts. All of it is counted as work; that of sheets
has a bound of its own, beyond which a page is read as if it had none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from livedata.extraction.hiding.cascade import Said, Sheet, of_attributes, rules, strongest
from livedata.extraction.hiding.sheets import medium, of_attribute, speaks_of_sight
from livedata.extraction.matching.class_index import is_quirky
from livedata.extraction.matching.css import to_css
from livedata.extraction.selectors import Compound
from livedata.extraction.text import NOTHING_HIDDEN, Hidden
from livedata.extraction.work import TooMuchWork, Work

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_TELLING: Final = 'style, [hidden], [style*="display" i], [style*="visibility" i]'
MOST_WORK: Final = 200_000
"""The work that the sheets of a page may take, in nodes looked at."""
LONGEST_SHEETS: Final = 1 << 19
"""The characters of all sheets of a page up to which they count."""
_COUNTED_FOR: Final = "style"
# What these take in the time in which one node is looked at, as measured.
_TAGS_TESTED: Final = 4
_CHARACTERS_COMPARED: Final = 128
_CHARACTERS_READ: Final = 16
_CHARACTERS_PARSED: Final = 4  # of a sheet, with all its rules
_ASKED: Final = 6  # nodes for an element that says something, or of which a rule does


class Sight:
    """What of a page is seen, which is looked at when it is first asked for."""

    def __init__(self, tree: LexborHTMLParser, markup: str, work: Work) -> None:
        self._tree = tree
        self._markup = markup
        self._work = work

    @cached_property
    def hidden(self) -> Hidden:
        """The elements that a person does not see. Raises `TooMuchWork`."""
        tags = self._markup.count("<")
        compared = len(self._markup) // _CHARACTERS_COMPARED
        self._work.spend(tags // _TAGS_TESTED + compared, _COUNTED_FOR)
        return _hidden_elements(self._tree, tags, self._work)


def _hidden_elements(tree: LexborHTMLParser, tags: int, work: Work) -> Hidden:
    if tree.root is None:
        return NOTHING_HIDDEN
    telling = tree.root.css(_TELLING)
    if not telling:
        return NOTHING_HIDDEN
    own = _by_attributes([node for node in telling if node.tag != "style"], work)
    sheets = _sheets(node for node in telling if node.tag == "style")
    if not sheets:
        return _hidden(own, {}, turns=True)
    bounded = Work(MOST_WORK)
    try:
        ruled = Ruled(tree, tags, sheets, bounded)
        said = ruled.said([node for node, _ in own.values()])
    except TooMuchWork:
        return _hidden(own, {}, turns=True)
    finally:
        work.include(bounded)
    return _hidden(own, said, turns=not ruled.may_show_any)


_Own = Mapping[int, tuple["LexborNode", Sequence[Said]]]
"""What elements say themselves, by their `mem_id`."""


def _by_attributes(nodes: Sequence[LexborNode], work: Work) -> _Own:
    owns = {}
    known: dict[tuple[str, bool], Sequence[Said]] = {}
    for node in nodes:
        attributes = node.attributes
        own = attributes.get("style") or "", "hidden" in attributes
        work.spend(_ASKED, _COUNTED_FOR)
        if own not in known:
            style, hidden = own
            work.spend(_ASKED + len(style) // _CHARACTERS_READ, _COUNTED_FOR)
            known[own] = list(of_attributes(of_attribute(style), hidden))
        owns[node.mem_id] = node, known[own]
    return owns


def _sheets(styles: Iterable[LexborNode]) -> tuple[Sheet, ...]:
    """The sheets that count on a screen; none if nothing may be hidden by them, or too long."""
    sheets = []
    length, hides = 0, False
    for node in styles:
        text = node.text() or ""
        length += len(text)
        attributes = node.attributes
        holds = medium(attributes.get("media") or "")
        kind = (attributes.get("type") or "text/css").strip().lower()
        if holds is not None and kind == "text/css":
            hides |= speaks_of_sight(text)
            # One with a title is one of several to choose from.
            sure = holds and not attributes.get("title") and not _is_without_scripts(node)
            sheets.append(Sheet(text, sure))
    return tuple(sheets) if hides and length <= LONGEST_SHEETS else ()


def _is_without_scripts(node: LexborNode) -> bool:
    """Whether it counts only in a browser that runs no scripts: another may hide nothing by it."""
    above = node.parent
    return above is not None and above.tag == "noscript"


def _hidden(own: _Own, ruled: Mapping[int, Sequence[Said]], *, turns: bool) -> Hidden:
    gone = set()
    turned = {}
    for element in own.keys() | ruled.keys():
        itself = own[element][1] if element in own else ()
        sights = strongest(chain(itself, ruled.get(element, ())))
        if sights.get("display") == "hidden":
            gone.add(element)
        elif (sight := sights.get("visibility", "inherited")) != "inherited":
            turned[element] = sight == "shown"
    if not turns or all(turned.values()):
        turned = {}
    return Hidden(gone, turned) if gone or turned else NOTHING_HIDDEN


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
        asked = {}
        for nodes in (others, self._elements(hiding - {"*"})):
            for node in nodes:
                asked[node.mem_id] = self._asked(node)
        return {element: said for element, said in asked.items() if said}

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
