"""What the parse budget takes away from a page before it counts makes no page look flatter."""

from __future__ import annotations

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from livedata.extraction import parse_budget
from livedata.extraction.text import names

_NAMES = sorted(names("div p li ul span b a font section table td select option svg form button"))
_TAGS = [f"<{slash}{name}>" for name in _NAMES for slash in ("", "/")]
_ODD = ["x", "<br>", "<!--", "-->", "<script>", "</script>", "<textarea>", "</textarea>"]
_QUOTED = [
    '<div a="x>',
    '">',
    "<div a=b\"c d='e>",
    "'>",
    '<p a="x>',
    '<span title="<div>">',
    "</DIV >",
]
_MARKUP = st.lists(st.sampled_from([*_TAGS, *_ODD, *_QUOTED]), max_size=60).map("".join)
_OPENED = re.compile(r"<[a-zA-Z]|</p>")
"""A tag that opens an element; the end of a paragraph that is not open is one, too."""
_CELL = re.compile(r"<td>")
"""It opens a row and a group of rows, if there are none."""
_AROUND = 3
"""The document and the elements html and body, which every page has."""
_LEAF_DEPTH = 4
"""A block, an item, a paragraph and a line break within each other: what a leaf may be."""


def depth(markup: str) -> int:
    """How deep the elements of a page lie in each other."""
    tree = LexborHTMLParser(markup)
    assert tree.root is not None
    deepest = 0
    for node in tree.root.css("*"):
        above, levels = node.parent, 1
        while above is not None:
            above, levels = above.parent, levels + 1
        deepest = max(deepest, levels)
    return deepest


@settings(max_examples=600, deadline=None)
@given(_MARKUP)
@example('<div a="x></div>">' * 30)
@example("<div a=b\"c d='e></div>'>" * 30)
@example("<div>x<!-- </div> -->" * 30)
@example("<div><script></div></script>" * 30)
@example("<span><p>x</span>" * 30)
@example("<form>x</form><form>" * 30)
@example("<span><b></span>" * 30)
@example('<span title="<div>"></div><a><b><select><a>')
def test_a_leaf_that_is_taken_away_was_closed_where_it_ends(markup: str) -> None:
    passes = 0
    flat, leaves = re.subn(parse_budget.LEAF, "", markup)
    while leaves:
        passes += 1
        less = flat
        flat, leaves = re.subn(parse_budget.LEAF, "", less)
    # What stands in quotes is no element, but counted as one: a leaf may have closed them.
    opened = len(_OPENED.findall(flat)) + 2 * len(_CELL.findall(flat)) + _AROUND
    assert depth(markup) <= opened + _LEAF_DEPTH * passes
