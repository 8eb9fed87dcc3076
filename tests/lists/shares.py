"""Which share of the pages is right, by what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from typing_extensions import override

from tests.lists.judge import FIRST, Judged


class Shares(Struct, frozen=True):
    """How many of the pages with a list are right, and how many of `others` have none.

    `exact` and `next` are of those on which the right list is the first, `key` and `required` of
    those on which it is seen. `none` are those of the others that are told to have no list, `told`
    those with a list that are told to have one. `hidden` are columns with a text that nobody sees.
    """

    lists: int
    first: int
    seen: int
    exact: int
    key: int
    required: int
    hidden: int
    next: int
    told: int
    others: int
    none: int
    slowest: float

    @property
    def short(self) -> list[str]:
        """What is asked and not reached."""
        missed = [each.name for each in self._each if each.is_short]
        return [*missed, "hidden text"] if self.hidden else missed

    @override
    def __str__(self) -> str:
        lines = [str(each) for each in self._each]
        lines.append(f"  {self.hidden} columns with hidden text (none)")
        return "\n".join(["", *lines, f"  {self.slowest:.1f} s of CPU for the slowest page (2 s)"])

    @property
    def _each(self) -> list[_Share]:
        return [
            _Share("the right list first", self.first, self.lists, 0.88),
            _Share(f"among the first {FIRST}", self.seen, self.lists, 0.96),
            _Share("just its records", self.exact, self.first, 0.9),
            _Share("a key that a person would take", self.key, self.seen, 0.95),
            _Share("required where an empty cell is a fault", self.required, self.seen, 1.0),
            _Share("the next page", self.next, self.first, 0.85),
            _Share("told to have no list where there is none", self.none, self.others, 0.8),
            _Share("told to have one where there is one", self.told, self.lists, 0.99),
        ]


class _Share(Struct, frozen=True):
    """A part of a whole, and the least that is asked."""

    name: str
    part: int
    whole: int
    asked: float

    @property
    def is_short(self) -> bool:
        return self.part < self.asked * self.whole

    @override
    def __str__(self) -> str:
        share = self.part / max(1, self.whole)
        bound = f"{'SHORT of' if self.is_short else 'at least'} {self.asked:.0%}"
        return f"  {self.part:3} of {self.whole:3} ({share:6.1%})  {self.name:40}  {bound}"


def shares(judged: Sequence[Judged]) -> Shares:
    """The shares of some pages."""
    lists = [each for each in judged if each.gold.records]
    others = [each for each in judged if not each.gold.records]
    first = [each for each in lists if each.place == 1]
    seen = [each for each in lists if each.place is not None]
    return Shares(
        lists=len(lists),
        first=len(first),
        seen=len(seen),
        exact=sum(each.exact for each in first),
        key=sum(each.wrong_key is None for each in seen),
        required=sum(not each.required for each in seen),
        hidden=sum(len(each.hidden) for each in lists),
        next=sum(each.next for each in first),
        told=sum(each.told for each in lists),
        others=len(others),
        none=sum(not each.told for each in others),
        slowest=max(each.seconds for each in judged),
    )
