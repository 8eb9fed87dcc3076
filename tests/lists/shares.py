"""Which share of the pages is right, by what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from typing_extensions import override

from tests.lists.judge import FIRST, Judged


class Shares(Struct, frozen=True):
    """How many of the pages with a list are right, and how many without one show none.

    `exact`, `key` and `next` are of those on which the right list is the first.
    """

    lists: int
    first: int
    seen: int
    exact: int
    key: int
    next: int
    others: int
    none: int
    slowest: float

    @override
    def __str__(self) -> str:
        said = {
            "the right list first": (self.first, self.lists),
            f"among the first {FIRST}": (self.seen, self.lists),
            "just its records": (self.exact, self.first),
            "a key": (self.key, self.first),
            "the next page": (self.next, self.first),
            "no list on a page without one": (self.none, self.others),
        }
        lines = [
            f"  {part:3} of {whole:3} ({part / max(1, whole):.0%})  {name}"
            for name, (part, whole) in said.items()
        ]
        return "\n".join(["", *lines, f"  {self.slowest:.1f} s of CPU for the slowest page"])


def shares(judged: Sequence[Judged]) -> Shares:
    """The shares of some pages."""
    lists = [each for each in judged if each.gold.records]
    others = [each for each in judged if not each.gold.records]
    first = [each for each in lists if each.place == 1]
    return Shares(
        lists=len(lists),
        first=len(first),
        seen=sum(each.place is not None for each in lists),
        exact=sum(each.exact for each in first),
        key=sum(each.key for each in first),
        next=sum(each.next for each in first),
        others=len(others),
        none=sum(not each.count for each in others),
        slowest=max(each.seconds for each in judged),
    )
