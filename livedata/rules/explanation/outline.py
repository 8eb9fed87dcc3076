"""A page's markup -> its elements with their texts: enough to look for known texts.

Rows are read by the crawler's parser, never by this one; it only helps a person to find again what
has moved, so it is forgiving and light.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from typing_extensions import override

from livedata.extraction.cells import clean

_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta"}
    | {"param", "source", "track", "wbr"}
)
_SILENT: Final = frozenset({"script", "style", "template", "noscript", "head"})
_SAME_ENDS: Final = frozenset({"li", "p", "tr", "td", "th", "dd", "dt", "option"})
_PLAIN: Final = re.compile(r"-?[_a-zA-Z][-_a-zA-Z0-9]*")
DEEPEST: Final = 200


@dataclass(slots=True)
class Element:
    """One element; `text` is all that stands below it, in one line."""

    tag: str
    attributes: dict[str, str]
    parent: Element | None
    parts: list[str] = field(default_factory=list)
    text: str = ""

    @property
    def above(self) -> Iterator[Element]:
        """Itself and its ancestors, inmost first."""
        here: Element | None = self
        while here is not None:
            yield here
            here = here.parent

    @property
    def selector(self) -> str:
        """The tag and the classes, as a selector."""
        classes = self.attributes.get("class", "").split()
        return self.tag + "".join(f".{name}" for name in classes if _PLAIN.fullmatch(name))


class Outline(HTMLParser):
    """The elements of a page in document order; `scripts` counts the characters of its scripts."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.scripts = 0
        self._open: list[Element] = []
        self.feed(markup)
        self.close()
        for element in self.elements:
            element.text = clean("".join(element.parts))
            element.parts.clear()

    @property
    def text(self) -> str:
        """All that a person sees, in one line."""
        roots = [one.text for one in self.elements if one.parent is None]
        return clean(" ".join(roots))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SAME_ENDS and self._open and self._open[-1].tag == tag:
            self._open.pop()
        parent = self._open[-1] if self._open else None
        element = Element(tag, {name: value or "" for name, value in attrs}, parent)
        self.elements.append(element)
        if tag not in _VOID and len(self._open) < DEEPEST:
            self._open.append(element)
        self._write(" ")

    @override
    def handle_endtag(self, tag: str) -> None:
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at].tag == tag:
                self._write(" ")
                del self._open[at:]
                return

    @override
    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].tag == "script":
            self.scripts += len(data)
        self._write(data)

    def _write(self, text: str) -> None:
        if not any(one.tag in _SILENT for one in self._open):
            for element in self._open:
                element.parts.append(text)
