"""Attributes that livedata derives from the tree, for what the page itself gives no name.

They are written onto the tree, so the parser's engine and `Page.attribute` read them as any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from livedata.extraction.cells import MAX_CELL
from livedata.extraction.derived_names import (
    CELLS,
    HAS,
    HEADER,
    INDEX,
    ROW,
    TERM,
    UNNUMBERED,
    UNNUMBERED_TERM,
)
from livedata.extraction.matching.css import to_css
from livedata.extraction.matching.numbering import unnumbered
from livedata.extraction.matching.table_headers import cells_of, column_headers, rows_of
from livedata.extraction.selectors import AttributeTest, Compound
from livedata.extraction.text import plain, short_text, walked_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

    from livedata.extraction.text import Hidden
    from livedata.extraction.work import Work

_OF_ANY_TAG: Final = frozenset((HAS, INDEX, UNNUMBERED))
"""What elements of every tag have."""

_Values = Iterator[tuple["LexborNode", str]]

# What these take in the time in which one node is looked at, as measured.
_TAGS_PASSED: Final = 6
_WRITTEN: Final = 6  # nodes for an attribute that is written or removed
_COPIED: Final = 20  # characters
_CLIMBED: Final = 2  # nodes for an element above one
_WALKED: Final = 2  # nodes for a node of a text


class DerivedAttributes:
    """Writes the attributes onto one tree, each when it is first asked for.

    ``hidden`` tells what of the page is not seen, once a text is read.
    """

    def __init__(
        self, root: LexborNode | None, tags: int, work: Work, hidden: Callable[[], Hidden]
    ) -> None:
        self._lengths: dict[str, int] = {}
        self._root = root
        self._tags = tags
        self._work = work
        self._hidden = hidden
        self._written: set[tuple[str, str | None]] = set()

    def write(self, name: str, tag: str | None, selector: str) -> int:
        """Write an attribute onto the elements of a tag, or of any; ``selector`` asks for it.

        The answer are the characters of all its values on the page.
        """
        # These are written for one tag alone: most pages have few elements of it.
        wanted = (name, tag if name in _OF_ANY_TAG else None)
        if wanted in self._written or (name, None) in self._written:
            return self._lengths[name]
        if name not in self._lengths:
            self._remove(name, selector)
        self._written.add(wanted)
        for node, value in self._values(name, tag, selector):
            # Before it is written: the text of one header may be copied to each cell below it.
            self._work.spend(_WRITTEN + len(value) // _COPIED, selector)
            node.attrs[name] = value
            self._lengths[name] += len(value)
        return self._lengths[name]

    def _remove(self, name: str, selector: str) -> None:
        """Remove the page's own attributes of a name, which count for nothing."""
        self._lengths[name] = 0
        having = to_css(Compound(None, (), (), (AttributeTest(name, "", ""),)))
        for node in self._find(having, selector):
            self._work.spend(_WRITTEN, selector)
            del node.attrs[name]

    def _find(self, css: str, selector: str) -> list[LexborNode]:
        if self._root is None:
            return []
        self._work.spend(self._tags // _TAGS_PASSED, selector)
        nodes = self._root.css(css)
        self._work.spend(len(nodes), selector)
        return nodes

    def _values(self, name: str, tag: str | None, selector: str) -> _Values:
        if name == INDEX:
            yield from self._indexes(tag, selector)
        elif name == HAS:
            yield from self._insides(tag, selector)
        elif name == CELLS:
            yield from self._cells(selector)
        elif name == ROW:
            yield from self._rows(selector)
        elif name == TERM:
            yield from self._terms(selector)
        elif name == HEADER:
            yield from self._headers(selector)
        elif name == UNNUMBERED:
            for node in self._find(to_css(Compound(tag, (), (), ())), selector):
                yield node, _unnumbered(self._text(node, selector))
        elif name == UNNUMBERED_TERM:
            yield from ((node, _unnumbered(term)) for node, term in self._terms(selector))

    def _indexes(self, tag: str | None, selector: str) -> _Values:
        """The place of each element among its siblings of the same tag, from 1."""
        places: Counter[tuple[int, str | None]] = Counter()
        for node in self._find(to_css(Compound(tag, (), (), ())), selector):
            parent = node.parent
            siblings = (0 if parent is None else parent.mem_id, node.tag)
            places[siblings] += 1
            yield node, str(places[siblings])

    def _insides(self, tag: str | None, selector: str) -> _Values:
        """The tags of what is in each element, each once and in order."""
        inside: dict[int, set[str]] = {}
        for node in self._find("*", selector):
            within, above = node.tag or "", node.parent
            while above is not None:
                self._work.spend(_CLIMBED, selector)
                tags = inside.setdefault(above.mem_id, set())
                # All that is further up knows of the tag by the one that came this way before.
                if within in tags:
                    break
                tags.add(within)
                above = above.parent
        for node in self._find(to_css(Compound(tag, (), (), ())), selector):
            if tags := inside.get(node.mem_id, set()):
                yield node, " ".join(sorted(tags))

    def _cells(self, selector: str) -> _Values:
        """How many cells each row of a table has."""
        for row in self._find("tr", selector):
            cells = sum(1 for _ in cells_of(row))
            self._work.spend(1 + cells, selector)
            yield row, str(cells)

    def _rows(self, selector: str) -> _Values:
        """What each row of a table is for."""
        for row in self._find("tr", selector):
            cells = list(cells_of(row))
            self._work.spend(1 + len(cells), selector)
            group = row.parent
            section = None if group is None else group.tag
            if section == "thead" or (cells and all(cell.tag == "th" for cell in cells)):
                yield row, "header"
            else:
                yield row, "footer" if section == "tfoot" else "data"

    def _terms(self, selector: str) -> _Values:
        """The last term before each description in its list."""
        terms: dict[int, str] = {}
        for node in self._find("dt, dd", selector):
            within = self._list_around(node, selector)
            if within is None:
                continue
            if node.tag == "dt":
                terms[within] = self._text(node, selector)
            elif within in terms:
                yield node, terms[within]

    def _list_around(self, node: LexborNode, selector: str) -> int | None:
        """The list that a term or a description belongs to."""
        above = node.parent
        while above is not None:
            self._work.spend(1, selector)
            if above.tag == "dl":
                return above.mem_id
            above = above.parent
        return None

    def _headers(self, selector: str) -> _Values:
        """The texts of the headers above each cell of a table, from top to bottom."""
        for table in self._find("table", selector):
            yield from column_headers(
                rows_of(table),
                lambda cell: self._text(cell, selector),
                lambda nodes: self._work.spend(nodes, selector),
            )

    def _text(self, node: LexborNode, selector: str) -> str:
        text = short_text(node)
        if text is None:
            marked, visited = walked_text(node, self._hidden(), MAX_CELL)
            self._work.spend(_WALKED * visited, selector)
            text = plain(marked)
        return text


def _unnumbered(text: str) -> str:
    # What is too long for a cell has no end here: cut at both ends, it would seem to be whole.
    return text if len(text) > MAX_CELL else unnumbered(text)
