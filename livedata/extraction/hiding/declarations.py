"""What a declaration of CSS says of whether an element is seen: those of two properties do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Final, Literal

from msgspec import Struct

Property = Literal["display", "visibility"]
Sight = Literal["hidden", "shown", "inherited"]
"""What an element is by a property; `inherited` is only a visibility, that of its parent."""

_NAMED: Final = re.compile(r"\s*(display|visibility|all)\s*:", re.IGNORECASE)
_PROPERTIES: Final[tuple[Property, ...]] = ("display", "visibility")
_HIDDEN: Final = {("display", "none"), ("visibility", "hidden"), ("visibility", "collapse")}
_INHERITED: Final = frozenset(("inherit", "unset", "revert", "revert-layer"))
_ASIDE: Final = re.compile(
    r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?|\"(?:[^\"\\\n]|\\[\s\S])*+\"?|'(?:[^'\\\n]|\\[\s\S])*+'?"
    r"|\burl\(\s*+[^\"'()]*+\)?|<!--|-->",
    re.IGNORECASE,
)


class Declaration(Struct, frozen=True):
    """What one declaration says of one of the two properties."""

    property: Property
    sight: Sight
    important: bool


def speaks_of_sight(css: str) -> bool:
    """Whether some CSS may hide anything: `all` alone hides nothing."""
    lower = css.lower()
    return "display" in lower or "visibility" in lower


def bare(css: str) -> str:
    """CSS without its comments, and with nothing in its strings and addresses."""
    return _ASIDE.sub(_stands_for, css)


def _stands_for(aside: re.Match[str]) -> str:
    return '"_"' if aside[0][0] in "\"'" else " "


def declarations(written: str) -> list[Declaration]:
    """What one declaration says that is `bare`: of one of the properties, or with `all` of both.

    What is no known value counts as shown: only what is certain hides.
    """
    named = _NAMED.match(written)
    if named is None:
        return []
    value, mark, flag = written[named.end() :].lower().partition("!")
    # Another word behind the mark makes a declaration that a browser does not know.
    if mark and flag.strip() != "important":
        return []
    value, name = value.strip(), named[1].lower()
    return [
        Declaration(each, _sight(each, value), bool(mark))
        for each in _PROPERTIES
        if name in {each, "all"}
    ]


def _sight(name: Property, value: str) -> Sight:
    if (name, value) in _HIDDEN:
        return "hidden"
    return "inherited" if name == "visibility" and value in _INHERITED else "shown"


def last_of(said: Iterable[Declaration]) -> list[Declaration]:
    """What stands of the declarations of one block: of each property the last, or last important.

    Important and other ones stand beside each other, for they meet different ones elsewhere.
    """
    return list({(one.property, one.important): one for one in said}.values())


def of_attribute(style: str) -> list[Declaration]:
    """What a style attribute says."""
    if not speaks_of_sight(style):
        return []
    return last_of(chain.from_iterable(map(declarations, bare(style).split(";"))))
