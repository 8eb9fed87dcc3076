"""The text of a page, and what else tells which kind of page it is."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from selectolax.lexbor import LexborHTMLParser

from livedata.extraction.cells import clean
from livedata.extraction.parse_budget import exceeds_budget

LONGEST: Final = 100_000
"""The characters of text after which no word tells more of a page's kind."""
_UNSEEN: Final = [
    *("head", "script", "style", "template", "noscript"),
    *("iframe", "noembed", "noframes"),
]
_TAG: Final = re.compile(r"<[^<>]*>")


class VisibleText(Struct, frozen=True):
    """The text of a page in one line, up to LONGEST; `scripts` counts characters of its scripts.

    `loads_scripts` and `asks_password` say that it has scripts of other files, and a field for a
    password.
    """

    text: str
    scripts: int = 0
    loads_scripts: bool = False
    asks_password: bool = False


def page_text(markup: str, *, parsed: bool = False) -> VisibleText:
    """The text of a page; of one that would stall the parser, the text alone.

    A page that was `parsed` before is known not to.
    """
    if not parsed and exceeds_budget(markup):
        return VisibleText(clean(_TAG.sub(" ", markup[:LONGEST])))
    tree = LexborHTMLParser(markup)
    unseen = tree.css(",".join(_UNSEEN))
    scripts = sum(len(node.text()) for node in unseen if node.tag == "script")
    loads_scripts = tree.css_first("script[src]") is not None
    asks_password = tree.css_first("input[type=password i]") is not None
    # One by one, and only those that are there: nothing else runs while a tree is searched.
    for name in {node.tag or "" for node in unseen}:
        tree.strip_tags([name])
    # What is hidden counts: a challenge hides its words until a script shows them.
    # By the parser's own walk: only words are looked for, and a page may have 100,000 texts.
    shown = "" if tree.body is None else tree.body.text(separator=" ")
    return VisibleText(clean(shown)[:LONGEST], scripts, loads_scripts, asks_password)
