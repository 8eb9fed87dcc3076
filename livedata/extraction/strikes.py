"""What has a line through it, as the page itself says: what was so, and is no more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from livedata.extraction.hiding.elements import LONGEST_SHEETS
from livedata.extraction.hiding.sheets import bare
from livedata.extraction.hiding.subjects import SelectorSubject, subjects

LINE: Final = "line-through"
_MOST_RULES: Final = 100
"""So many rules of the sheets of a page are looked at."""
_LONGEST: Final = 2_000
"""The selectors of a rule that are looked at have at most so many characters."""
_TAGS: Final = frozenset(("del", "s", "strike"))
_CLASS: Final = re.compile(
    r"(?:[a-z]+[-_])*(?:old|was)(?:[-_]?price)?|(?:[a-z]+[-_])*price[-_]?(?:old|was|before)"
    r"|strike|struck|(?:[a-z]+[-_])*(?:strike|line)[-_]?(?:through|out)|crossed(?:[-_]?out)?",
    re.IGNORECASE,
)
_DECORATION: Final = re.compile(r"\s*text-decoration(?:-line)?\s*:(.*)", re.IGNORECASE | re.DOTALL)


class Strikes:
    """The rules of the sheets of one page that draw a line through the elements of a selector."""

    def __init__(self, sheets: Sequence[str]) -> None:
        longest = sum(map(len, sheets)) > LONGEST_SHEETS
        rules = () if longest else islice(_rules(sheets), _MOST_RULES)
        self._subjects: Final = list(rules)

    def through(self, tag: str, classes: Iterable[str], by_style: bool | None) -> bool:
        """Whether a line is through the elements of a tag with these classes.

        By their attribute style, or if that says nothing of it by what the sheets, their tag or a
        class of theirs says.
        """
        if by_style is not None:
            return by_style
        names = set(classes)
        return (
            tag in _TAGS
            or any(map(_CLASS.fullmatch, names))
            or any(
                subject.tag in {None, tag} and names.issuperset(subject.classes)
                for subject in self._subjects
            )
        )


def by_style(css: str) -> bool | None:
    """Whether declarations draw a line through their element; None if they say nothing of it."""
    said = [
        match[1]
        for declaration in css.split(";")
        if (match := _DECORATION.match(declaration)) is not None
    ]
    # The last one counts, as in a browser: `none` takes back the line of one before it.
    return LINE in said[-1] if said else None


def _rules(sheets: Iterable[str]) -> Iterator[SelectorSubject]:
    """The subjects of the simple selectors of rules that draw a line, of tags and classes alone."""
    for sheet in sheets:
        for block in bare(sheet).split("}") if LINE in sheet else ():
            before, _, declared = block.rpartition("{")
            selectors = re.split("[{;]", before)[-1]
            if len(selectors) <= _LONGEST and by_style(declared):
                for subject in subjects(selectors):
                    # `through` is told of no ids, and a rule for all would strike the page.
                    if subject.sure and not subject.ids and not subject.is_any:
                        yield subject
