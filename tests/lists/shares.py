"""Which share of the pages is right, by what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from typing_extensions import override

from tests.lists.judge import FIRST, Judged


class Shares(Struct, frozen=True):
    """How many of the pages with a list are right, and how many of `others` have none.

    `exact`, `key` and `next` are of those on which the right list is the first; `none` are those
    that show no list, or one with a doubt.
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
            "the right list first": (self.first, self.lists, 0.85),
            f"among the first {FIRST}": (self.seen, self.lists, 0.95),
            "just its records": (self.exact, self.first, 0.9),
            "a key": (self.key, self.first, 0.85),
            "the next page": (self.next, self.first, 0.85),
            "no list where there is none, or a doubt": (self.none, self.others, None),
        }
        lines = [_line(name, *counted) for name, counted in said.items()]
        return "\n".join(["", *lines, f"  {self.slowest:.1f} s of CPU for the slowest page (2 s)"])


def _line(name: str, part: int, whole: int, asked: float | None) -> str:
    share = part / max(1, whole)
    short = asked is not None and share < asked
    bound = "" if asked is None else f"  {'SHORT of' if short else 'at least'} {asked:.0%}"
    return f"  {part:3} of {whole:3} ({share:6.1%})  {name:40}{bound}".rstrip()


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
        none=sum(not (each.count and each.sure) for each in others),
        slowest=max(each.seconds for each in judged),
    )
