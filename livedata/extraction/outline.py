"""The elements of a page with their texts, to look for known texts on it.

It is the tree that Runs read, so what is found here is found by a Run too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from livedata.extraction.cells import clean
from livedata.extraction.matching.derived import DerivedAttributes
from livedata.extraction.matching.names import HEADER, INDEX, ROW, TERM
from livedata.extraction.parse_budget import exceeds_budget
from livedata.extraction.text import APART
from livedata.extraction.work import TooMuchWork, Work

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

LONGEST_TEXT: Final = 500
"""The characters up to which an element keeps its text: a longer one is no cell's."""
_SILENT: Final = frozenset(("script", "style", "template", "noscript", "head"))
_PLAIN_NAME: Final = re.compile(r"-?[_a-zA-Z][-_a-zA-Z0-9]*")
_NAMING: Final = (HEADER, TERM, ROW, INDEX)
"""What names an element best comes first: a header outlives a column that the site adds."""
_PLAIN_VALUE: Final = re.compile(r"[^'\"\\]{1,100}")
_SPACES: Final = re.compile(r"\s+")
_TAG: Final = re.compile(r"<[^<>]*>")


class Element(Struct, eq=False):
    """One element; `text` is what a person sees of it, None if that is longer than a cell."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    text: str | None = ""
    parts: list[str | Element] = []

    @property
    def above(self) -> Iterator[Element]:
        """Itself and its ancestors, inmost first."""
        here: Element | None = self
        while here is not None:
            yield here
            here = here.parent

    @property
    def selector(self) -> str:
        """The tag and the classes, as a selector; without a class, what is derived names it."""
        classes = self.attributes.get("class", "").split()
        names = "".join(f".{name}" for name in classes if _PLAIN_NAME.fullmatch(name))
        return self.tag + (names or self._derived_test)

    @property
    def _derived_test(self) -> str:
        for name in _NAMING:
            value = self.attributes.get(name)
            if value and _PLAIN_VALUE.fullmatch(value):
                return f"[{name}='{value}']"
        return ""


class Outline(Struct, frozen=True):
    """The elements of a page in document order.

    `text` is all that a person sees, in one line; `scripts` counts the characters of its scripts.
    """

    elements: Sequence[Element]
    text: str
    scripts: int


def outline(markup: str) -> Outline:
    """The outline of a page; of one that would stall the parser its text, without elements."""
    if exceeds_budget(markup):
        return Outline((), clean(_TAG.sub(" ", markup)), 0)
    elements: list[Element] = []
    texts: list[str] = []
    scripts = 0
    tree = LexborHTMLParser(markup)
    _derive(tree)
    for node, parent, hidden in _nodes(tree, elements):
        text = node.text_content or ""
        if parent.tag == "script":
            scripts += len(text)
        if not hidden:
            parent.parts.append(text)
            texts.append(text)
    # Children come after their parents, so from behind each text is made of finished ones; and
    # each is cut soon, or a page that nests deeply would be copied once for every level.
    whole: dict[Element, str] = {}
    for element in reversed(elements):
        joined = "".join(part if isinstance(part, str) else whole[part] for part in element.parts)
        short = _SPACES.sub(" ", joined)[: LONGEST_TEXT + 3]
        whole[element] = f" {short} " if element.tag in APART else short
        seen = clean(short)
        element.text = seen if len(seen) <= LONGEST_TEXT else None
        element.parts.clear()
    return Outline(elements, clean(" ".join(texts)), scripts)


def _derive(tree: LexborHTMLParser) -> None:
    """Write onto a tree what names its cells, rows and descriptions."""
    derived = DerivedAttributes(tree.root, 0, Work())
    # If a page takes too much of it, the rest of its elements go by tag and class alone.
    with suppress(TooMuchWork):
        for name in _NAMING:
            derived.write(name, "td" if name == INDEX else None, name)


def _nodes(
    tree: LexborHTMLParser, elements: list[Element]
) -> Iterator[tuple[LexborNode, Element, bool]]:
    """The text nodes in document order, each with its element, and whether nobody sees it.

    Every element on the way is added to `elements`.
    """
    waiting: list[tuple[LexborNode, Element | None, bool]] = []
    if tree.root is not None:
        waiting.append((tree.root, None, False))
    while waiting:
        node, parent, hidden = waiting.pop()
        tag = node.tag or ""
        if node.next is not None and parent is not None:
            waiting.append((node.next, parent, hidden))
        if tag == "-text":
            if parent is not None:
                yield node, parent, hidden
        elif not tag.startswith(("-", "!")):
            attributes = {name: value or "" for name, value in node.attributes.items()}
            element = Element(tag, attributes, parent)
            elements.append(element)
            if parent is not None:
                parent.parts.append(element)
            if node.first_child is not None:
                waiting.append((node.first_child, element, hidden or tag in _SILENT))
