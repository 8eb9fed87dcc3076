"""Which of all that is said of one element counts: the rules of CSS, for the page's own sheets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from livedata.extraction.hiding.sheets import (
    Declaration,
    Property,
    Sight,
    Statement,
    TooManyRules,
    statements,
)
from livedata.extraction.selectors import lower

MOST_STATEMENTS: Final = 10_000
"""Of all sheets of a page; if they say more, none of them counts."""

_OF_PAGE: Final = 1
_OF_ELEMENT: Final = 2  # its style attribute, which stands over the sheets
_IMPORTANT: Final = 2
_Rank = tuple[int, bool, tuple[int, int, int], int]
_NAME: Final = re.compile(r"[^ \t\n\f\r]+")
_LOWEST: Final[_Rank] = (0, False, (0, 0, 0), 0)
_ATTRIBUTE: Final = (False, (0, 0, 0), 0)

Said = tuple[Property, _Rank, Sight]
"""What is said of an element by one property, and how much that counts."""


class Sheet(NamedTuple):
    """The text of a style element; `sure` says that it holds on each screen."""

    text: str
    sure: bool


class Rules:
    """The rules of a page that say which elements are seen, by what their subjects have.

    With `any_case` classes and ids are compared in any case, as in a page without a doctype.
    """

    def __init__(self, stated: Iterable[Statement], *, any_case: bool = False) -> None:
        self._any_case = any_case
        self._by_key: defaultdict[str, list[Rule]] = defaultdict(list)
        strong: dict[tuple[object, ...], Rule] = {}
        for order, statement in enumerate(stated):
            rule = _rule(statement, order, any_case)
            # Of what is said more than once of the same elements one counts.
            same = (
                rule.key,
                rule.tag,
                rule.names,
                statement.said.property,
                statement.said.important,
                statement.sure,
            )
            if same not in strong or rule.said > strong[same].said:
                strong[same] = rule
        for rule in strong.values():
            self._by_key[rule.key].append(rule)

    def keys(self, name: Property, sight: Sight) -> set[str]:
        """One part each of the elements that a property of is said of: a tag, `#id` or `.class`.

        It is `*` where any element may be meant.
        """
        return {
            key
            for key, rules in self._by_key.items()
            if any(rule.said[0] == name and rule.said[2] == sight for rule in rules)
        }

    def parts(self, tag: str, id_: str, classes: str) -> list[str]:
        """What an element has: its tag, then its id and its classes as `keys` has them."""
        if self._any_case:
            id_, classes = lower(id_), lower(classes)
        return [
            tag,
            *([f"#{id_}"] if id_ else ()),
            *(f".{name}" for name in _NAME.findall(classes)),
        ]

    def concerning(self, parts: list[str]) -> list[Rule]:
        """The rules that may be of an element that has these parts."""
        return [rule for key in ("*", *set(parts)) for rule in self._by_key.get(key, ())]


class Rule(NamedTuple):
    """What is said of the elements of a tag, or of any, that have all of the names."""

    key: str
    tag: str | None
    names: frozenset[str]
    said: Said

    def is_of(self, parts: list[str]) -> bool:
        """Whether it is of an element that has these parts."""
        return (self.tag is None or self.tag == parts[0]) and self.names.issubset(parts)


def _rule(statement: Statement, order: int, any_case: bool) -> Rule:
    subject, said = statement.subject, statement.said
    names = [f"#{name}" for name in subject.ids] + [f".{name}" for name in subject.classes]
    written = frozenset(map(lower, names) if any_case else names)
    level = _OF_PAGE + _IMPORTANT * said.important
    # What may hold counts more than what holds, whatever it is written with.
    rank = (level, not statement.sure, subject.specificity if statement.sure else (0, 0, 0), order)
    key = min(written) if written else subject.tag or "*"
    return Rule(key, subject.tag, written, (said.property, rank, said.sight))


@lru_cache(maxsize=4)  # the pages of a site have the same sheets
def rules(sheets: tuple[Sheet, ...], *, any_case: bool) -> Rules:
    """The rules of all sheets of a page."""
    stated: list[Statement] = []
    try:
        for sheet in sheets:
            stated += statements(sheet.text, sheet.sure, MOST_STATEMENTS - len(stated))
    except TooManyRules:
        stated = []
    return Rules(stated, any_case=any_case)


def of_attributes(declared: Iterable[Declaration], hidden: bool) -> Iterator[Said]:
    """What an element's own attributes say: style, and whether it has `hidden`."""
    if hidden:
        yield "display", _LOWEST, "hidden"
    for said in declared:
        level = _OF_ELEMENT + _IMPORTANT * said.important
        yield said.property, (level, *_ATTRIBUTE), said.sight


def strongest(said: Iterable[Said]) -> Mapping[Property, Sight]:
    """What counts of all that is said of an element."""
    best: dict[Property, tuple[_Rank, Sight]] = {}
    for name, rank, sight in said:
        if name not in best or rank > best[name][0]:
            best[name] = rank, sight
    return {name: sight for name, (_, sight) in best.items()}
