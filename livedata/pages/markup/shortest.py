"""The fewest parts to delete and insert that make one sequence of another, at a known cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

OF_A_PAGE: Final = 400_000
"""The steps of all texts of a page together: a tenth of a second at most."""


class Block(NamedTuple):
    """Parts that both sequences have: where they begin in each, and how many they are."""

    old: int
    new: int
    size: int


class StepBudget:
    """The steps that comparing may still take; whoever finds it empty shows texts whole."""

    __slots__ = ("left",)

    def __init__(self, steps: int = OF_A_PAGE) -> None:
        self.left = steps

    def spend(self, steps: int) -> bool:
        """Take steps that were or will be done; whether there were so many."""
        self.left = max(0, self.left - steps)
        return self.left > 0


def blocks(
    old: Sequence[str], new: Sequence[str], budget: StepBudget, most: int
) -> list[Block] | None:
    """What both have, in order; None if that is less than half of them, or costs too much.

    It takes at most `most` steps, and no more than the budget has.
    """
    # By Myers (1986): all places that some number of edits can reach, for one number after the
    # other. It takes as long as there are differences, and texts without much in common are given
    # up; difflib's time is that of the words times the words, and worse if they repeat.
    allowed = min(most, budget.left)
    left = allowed
    reached = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range((len(old) + len(new)) // 2 + 1):
        rounds.append(reached.copy())
        for diagonal in range(-edits, edits + 1, 2):
            begun = _edited(reached, diagonal, edits)
            place = begun
            while (
                place < len(old)
                and place - diagonal < len(new)
                and old[place] == new[place - diagonal]
            ):
                place += 1
            reached[diagonal] = place
            left -= 2 + place - begun
            if left < 0:
                budget.spend(allowed)
                return None
            if place >= len(old) and place - diagonal >= len(new):
                budget.spend(allowed - left)
                return _walked_back(rounds, len(old), len(new))
    budget.spend(allowed - left)
    return None


def _edited(reached: dict[int, int], diagonal: int, edits: int) -> int:
    """How far one more edit leads on a diagonal."""
    if _inserts(reached, diagonal, edits):
        return reached[diagonal + 1]
    return reached[diagonal - 1] + 1


def _inserts(reached: dict[int, int], diagonal: int, edits: int) -> bool:
    """Whether that edit is an insertion, and no deletion."""
    if abs(diagonal) == edits:
        return diagonal < 0 or edits == 0
    return reached[diagonal - 1] < reached[diagonal + 1]


def _walked_back(rounds: Sequence[dict[int, int]], old: int, new: int) -> list[Block]:
    """The blocks on the way to the ends of both."""
    common = []
    for edits in range(len(rounds) - 1, -1, -1):
        reached, diagonal = rounds[edits], old - new
        begun = _edited(reached, diagonal, edits)
        if old > begun:
            common.append(Block(begun, begun - diagonal, old - begun))
        inserted = _inserts(reached, diagonal, edits)
        old = begun if inserted else begun - 1
        new = begun - diagonal - inserted
    return common[::-1]
