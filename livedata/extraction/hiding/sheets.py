"""What a style sheet says of which elements are seen: its rules, and how sure they are.

Sure are rules that hold on each screen. A rule in a block with a condition, of `@media` and the
like, or nested in another rule may hold; one for print does not. Where a browser would pass over a
rule that is not well formed, none is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from livedata.extraction.hiding.subjects import SelectorSubject, subjects
from livedata.extraction.text import names

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
    return list({(each.property, each.important): each for each in said}.values())


def of_attribute(style: str) -> list[Declaration]:
    """What a style attribute says."""
    if not speaks_of_sight(style):
        return []
    return last_of(chain.from_iterable(map(declarations, bare(style).split(";"))))


_DEEPEST: Final = 100
_TOKEN: Final = re.compile(r"((?:[^{};\\]++|\\[\s\S]?)*+)([{};]|\Z)")
_AT_NAME: Final = re.compile(r"@[-\w]*")
_ALWAYS: Final = frozenset(("", "all", "screen", "only screen"))
_NEVER: Final = frozenset(("print", "only print", "speech"))
_OF_NO_ELEMENT: Final = names(
    "@keyframes @-webkit-keyframes @-moz-keyframes @-o-keyframes @font-face @page @property "
    "@counter-style @font-feature-values @font-palette-values @position-try @view-transition"
)


class TooManyRules(Exception):
    """A sheet says more, or nests deeper, than is read of one."""


class Statement(NamedTuple):
    """What a sheet says of its subject by one property; what is not sure says that it is shown."""

    subject: SelectorSubject
    said: Declaration
    sure: bool


def statements(sheet: str, sure: bool, most: int) -> list[Statement]:
    """What a sheet says of which elements are seen, in its order.

    `sure` says that the whole sheet holds on each screen. Raises `TooManyRules` if it says this
    more than `most` times.
    """
    reader = _Reader(sure, most)
    for before, end in _TOKEN.findall(bare(sheet)):
        reader.read(before, end)
    reader.end()
    return reader.statements


def medium(condition: str) -> bool | None:
    """Whether a condition of media holds on each screen; None if it holds on none."""
    said = [" ".join(part.split()) for part in condition.lower().split(",")]
    if not _ALWAYS.isdisjoint(said):
        return True
    return None if _NEVER.issuperset(said) else False


class _Rule:
    """A rule by its selectors, which are read only if it says something of what is seen."""

    def __init__(self, selectors: str) -> None:
        self._selectors = selectors
        self.count = selectors.count(",") + 1
        """No less than its subjects are."""

    @cached_property
    def subjects(self) -> list[SelectorSubject]:
        return subjects(self._selectors)


class _Block(Struct):
    """A block of a sheet that is open: whose rule it is, and whether that holds.

    `rule` is None outside of rules; `dead` is where nothing is said of any element.
    """

    rule: _Rule | None
    sure: bool
    dead: bool = False
    said: list[Declaration] = []


class _Reader:
    """Reads a sheet piece by piece: what stands before a brace or a semicolon, and that."""

    def __init__(self, sure: bool, most: int) -> None:
        self.statements: list[Statement] = []
        self._open = [_Block(None, sure)]
        self._broken = False
        self._left = most

    def read(self, before: str, end: str) -> None:
        """Read the next piece."""
        block = self._open[-1]
        if end == "{":
            self._open.append(self._opened(block, before.strip()))
            self._broken = False
            if len(self._open) > _DEEPEST:
                raise TooManyRules
        elif block.rule is not None or block.dead:
            if not block.dead:
                block.said += declarations(before)
            if end == "}":
                self._close()
        elif end == "}":
            # Without a block to close it is part of the next selector, which is then none.
            self._broken = len(self._open) == 1
            self._close()
        elif end == ";":
            self._broken |= not before.lstrip().startswith("@")

    def end(self) -> None:
        """Close what is open at the end of the sheet."""
        while len(self._open) > 1:
            self._close()

    def _opened(self, block: _Block, prelude: str) -> _Block:
        if block.dead or self._broken or prelude.startswith("--"):
            return _Block(None, sure=False, dead=True)
        at_name = _AT_NAME.match(prelude)
        if at_name is None:
            return _Block(_Rule(prelude), block.sure and block.rule is None)
        name = at_name[0].lower()
        holds = medium(prelude[at_name.end() :]) if name == "@media" else False
        if holds is None or name in _OF_NO_ELEMENT:
            return _Block(None, sure=False, dead=True)
        return _Block(block.rule, block.sure and holds and block.rule is None)

    def _close(self) -> None:
        if len(self._open) > 1:
            block = self._open.pop()
            self.statements += self._stated(block)

    def _stated(self, block: _Block) -> Iterator[Statement]:
        last = last_of(block.said)
        if block.rule is None or not last:
            return
        self._left -= block.rule.count
        if self._left < 0:
            raise TooManyRules
        for said in last:
            for subject in block.rule.subjects:
                if subject.sure and block.sure and not (subject.is_any and said.sight == "hidden"):
                    yield Statement(subject, said, sure=True)
                elif said.sight != "hidden":
                    shown = Declaration(said.property, "shown", said.important)
                    yield Statement(subject, shown, sure=False)
