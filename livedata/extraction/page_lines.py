"""The text of a page in lines, for a reader that knows no markup.

One row of a table is one line, with a tab between its cells; list items, terms and blocks have a
line each, and paragraphs, headings and tables a blank line around them. Left out is what leads
elsewhere or stands on each page of a site: nav, footer, and what has their roles. What HTML hides
is there, for tables often stand in tabs that only a script shows.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from msgspec import Struct, json
from msgspec.structs import replace

from livedata.extraction.page import has_long_host
from livedata.extraction.text import APART, names

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from livedata.extraction.page import Page
    from livedata.model.research.answers import PageText

LONGEST: Final = 500_000
"""The characters of text after which a page is cut: no list that a person reads is so long, and 50
such pages take no more memory than a Run may have."""
MOST_LINKS: Final = 200
LONGEST_LINK_TEXT: Final = 120

_LEFT_OUT: Final = "nav, footer, [role=navigation i], [role=contentinfo i]"
_UNSEEN: Final = names(
    "datalist embed head iframe noembed noframes object script select style template textarea title"
)
_SET_APART: Final = names("blockquote h1 h2 h3 h4 h5 h6 p pre table")
_CELLS: Final = names("td th")
# A cell that holds one of these lays out the page, and is no value of a row.
_OF_LAYOUT: Final = "table, h1, h2, h3, h4, h5, h6, article, section"
_LONGEST_ADDRESS: Final = 2_000
_LINKS_LOOKED_AT: Final = 1_000
_SLICE: Final = 1 << 16  # characters that are split into words at once
_WORTH_A_NODE: Final = 256  # characters that take as long as a node
_AT_ONCE: Final = 1_000  # nodes that are looked at before they are counted as work
_WALKED: Final = 2  # what a node takes, in nodes looked at
_COUNTED_FOR: Final = "html"
# In pieces, because to sort the marks of a letter takes quadratic time in their number.
_LETTERS: Final = re.compile(r"\S{1,1000}")
LONGEST_BODY: Final = 62 * 1024
"""The bytes of a piece as JSON, a little less than may be kept (interface 8)."""
_SHORTEST: Final = 1_000
"""The characters of a piece at least: an address may leave no room for any."""


class PageLines(Struct, frozen=True):
    """The text of a page, and its links as (text, address); `cut` says that the page is longer."""

    text: str
    links: list[tuple[str, str]]
    cut: bool


def page_lines(page: Page) -> PageLines:
    """The text and the links of a page. Raises TooMuchWork."""
    walk = _Walk(page)
    cut = walk.run()
    links = [(composed(text), address) for address, text in walk.links.items()]
    text = walk.text
    if cut and "\n" in text:
        # At the end of a line, so that no row is there by half: a half of it may be another value.
        text = text[: text.rfind("\n")].rstrip("\n")
    return PageLines(composed(text), links, cut)


def has_scripts(page: Page) -> bool:
    """Whether a browser may show more of a page than its markup has."""
    return page.tree.css_first("script") is not None


def composed(text: str) -> str:
    """The text in Unicode's form NFC."""
    if text.isascii():
        return text
    return _LETTERS.sub(lambda letters: unicodedata.normalize("NFC", letters[0]), text)


class _Walk:
    """A walk through a page, which gathers its lines and its links."""

    def __init__(self, page: Page) -> None:
        self.links: dict[str, str] = {}
        self._page = page
        self._left_out = {node.mem_id for node in page.tree.css(_LEFT_OUT)}
        self._layout = _cells_of_layout(page)
        self._pieces: list[str] = []
        self._length = self._visited = self._links_seen = 0
        # What stands before the next text: line breaks, then tabs, or only a space.
        self._breaks = self._tabs = 0
        self._space = False
        # The outermost of its kind that is open now.
        self._cell = self._pre = self._link = 0
        self._link_start = 0

    @property
    def text(self) -> str:
        """The lines that were gathered."""
        return "".join(self._pieces)

    def run(self) -> bool:
        """Walk to the end, or until there are LONGEST characters; whether more was left."""
        node = self._page.tree.root
        while node is not None:
            self._visited += 1
            tag = node.tag or ""
            below = None
            if tag == "-text":
                if self._add(node.text_content or ""):
                    return True
            elif tag not in _UNSEEN and node.mem_id not in self._left_out:
                self._enter(node, tag)
                below = node.first_child
                if below is None:
                    self._leave(node, tag)
            node = below or self._after(node)
            if self._visited >= _AT_ONCE:
                self._count()
        self._count()
        return False

    def _count(self) -> None:
        self._page.work.spend(_WALKED * self._visited, _COUNTED_FOR)
        self._visited = 0

    def _after(self, node: LexborNode) -> LexborNode | None:
        """What follows in document order, once all is left that ends on the way up to it."""
        here: LexborNode | None = node
        while here is not None and here.next is None:
            here = here.parent
            if here is not None:
                self._leave(here, here.tag or "")
        return None if here is None else here.next

    def _enter(self, node: LexborNode, tag: str) -> None:
        self._set_apart(node, tag)
        if tag in _CELLS and not self._cell and node.mem_id not in self._layout:
            self._cell = node.mem_id
        elif tag == "pre" and not self._pre:
            self._pre = node.mem_id
        elif tag == "a" and not self._link:
            self._link, self._link_start = node.mem_id, len(self._pieces)

    def _leave(self, node: LexborNode, tag: str) -> None:
        here = node.mem_id
        if here == self._cell:
            self._cell = 0
            self._tabs += 1
            return
        self._set_apart(node, tag)
        if here == self._pre:
            self._pre = 0
        elif here == self._link:
            self._link = 0
            self._keep_link(node, "".join(self._pieces[self._link_start :]))

    def _set_apart(self, node: LexborNode, tag: str) -> None:
        if tag in _CELLS and node.mem_id not in self._layout:
            return
        if self._cell:
            self._space |= tag in APART
        elif tag in APART:
            self._break(2 if tag in _SET_APART else 1)

    def _break(self, lines: int) -> None:
        self._breaks, self._tabs = max(self._breaks, lines), 0

    def _add(self, content: str) -> bool:
        """Add a text of the page; whether there is no room for all of it."""
        if not self._pre or self._cell:
            return self._add_words(content)
        for number, line in enumerate(content.split("\n")):
            if number:
                self._break(min(self._breaks + 1, 2))
            if self._add_words(line):
                return True
        return False

    def _add_words(self, content: str) -> bool:
        for start in range(0, len(content), _SLICE):
            part = content[start : start + _SLICE]
            self._visited += len(part) // _WORTH_A_NODE
            words = part.split()
            if words:
                before = self._separator(part[0])
                room = LONGEST - self._length - len(before)
                piece = " ".join(words)
                self._pieces.append(before + piece[: max(room, 0)])
                self._length += len(self._pieces[-1])
                if len(piece) > room:
                    return True
                self._breaks = self._tabs = 0
            self._space = part[-1].isspace() or (self._space and not words)
        return False

    def _separator(self, first: str) -> str:
        if not self._pieces:
            return ""
        if self._breaks or self._tabs:
            return "\n" * self._breaks + "\t" * self._tabs
        return " " if self._space or first.isspace() else ""

    def _keep_link(self, node: LexborNode, text: str) -> None:
        self._links_seen += 1
        if self._links_seen > _LINKS_LOOKED_AT:
            return
        written = node.attrs.get("href") or ""
        if not written or len(written) > _LONGEST_ADDRESS:
            return
        address = _page_address(self._page.attribute(node, "href") or "")
        has_room = address in self.links or len(self.links) < MOST_LINKS
        # A picture often leads to the same page as the name behind it.
        if address is not None and has_room and not self.links.get(address):
            self.links[address] = " ".join(text.split())[:LONGEST_LINK_TEXT]


def _page_address(written: str) -> str | None:
    """An absolute address without its fragment; None if no page can be there."""
    if has_long_host(written):
        return None
    try:
        parts = urlsplit(written)
    except ValueError:
        return None
    is_page = parts.scheme in {"http", "https"} and parts.netloc
    return parts._replace(fragment="").geturl() if is_page else None


def _cells_of_layout(page: Page) -> set[int]:
    """The cells that hold more than a value."""
    above: set[int] = set()
    for node in page.tree.css(_OF_LAYOUT):
        # Up to what was passed before: else a page that nests deeply would be climbed again.
        here = node.parent
        while here is not None and here.mem_id not in above:
            above.add(here.mem_id)
            here = here.parent
    return above


def pieces(page: PageText) -> Iterator[PageText]:
    """The page in pieces, each with text and links of its own; together they have all of both."""
    rest = page
    while True:
        piece = _piece(rest)
        yield piece
        text, links = rest.text[len(piece.text) :], rest.links[len(piece.links) :]
        if not text and not links:
            return
        rest = replace(page, text=text, links=links)


def _piece(page: PageText) -> PageText:
    """As much text as there is room for, and then as many links."""
    # Most pages are one piece, and looking for the place of a cut takes longer.
    if len(json.encode(page)) <= LONGEST_BODY:
        return page
    text, links = page.text, page.links
    length = _fitting(len(text), lambda count: replace(page, text=text[:count], links=[]))
    part = replace(page, text=_whole_lines(text, max(length, _SHORTEST)), links=[])
    count = _fitting(len(links), lambda count: replace(part, links=links[:count]))
    # Links for which no piece has room stand in one that is too long.
    return replace(part, links=links if not part.text and not count else links[:count])


def _whole_lines(text: str, length: int) -> str:
    """The beginning of a text, up to the end of a line if it has one there."""
    if length >= len(text):
        return text
    return text[: text.rfind("\n", 0, length) + 1 or length]


def _fitting(most: int, shortened: Callable[[int], PageText]) -> int:
    """The largest count up to `most` for which a piece is short enough."""
    # A character or a link has a byte at least.
    counts = range(1, min(most, LONGEST_BODY) + 1)
    return bisect_right(counts, LONGEST_BODY, key=lambda count: len(json.encode(shortened(count))))
