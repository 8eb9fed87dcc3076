"""Which texts of a page a person does not see, by what the page itself says of its elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tests.lists.parts import upwards

_HIDES: Final = re.compile(
    r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE
)
_RULE: Final = re.compile(r"([^{}]+)\{([^{}]*)\}")
_SIMPLE: Final = re.compile(r"\s*[\w.#-]+\s*")


class Hidden:
    """The elements that are hidden by their attributes, or by a simple rule of the page's own."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._hidden: Final = {
            *(node.mem_id for node in tree.css("[hidden]")),
            *(
                node.mem_id
                for node in tree.css("[style]")
                if _HIDES.search(node.attributes.get("style") or "")
            ),
            *(node.mem_id for rule in _rules(tree) for node in tree.css(rule)),
        }

    def is_in(self, text: str, node: LexborNode) -> bool:
        """Whether a text that was read of an element has what is hidden below or around it."""
        if any(up in self._hidden for up in upwards(node)):
            return True
        below = [inner for inner in node.css("*") if inner.mem_id in self._hidden]
        if not below:
            return False
        seen = _squeezed(" ".join(self._seen(node)))
        unseen = {_squeezed(inner.text()) for inner in below} - {""}
        return any(each in _squeezed(text) and each not in seen for each in unseen)

    def _seen(self, node: LexborNode) -> Iterator[str]:
        for child in node.iter(include_text=True):
            if child.tag == "-text":
                yield child.text_content or ""
            elif child.mem_id not in self._hidden:
                yield from self._seen(child)


def _rules(tree: LexborHTMLParser) -> Iterator[str]:
    for style in tree.css("style"):
        for selectors, said in _RULE.findall(style.text()):
            if _HIDES.search(said):
                yield from (each for each in selectors.split(",") if _SIMPLE.fullmatch(each))


def _squeezed(text: str) -> str:
    return "".join(text.split())
