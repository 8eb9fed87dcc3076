"""What may be tried after a held Run whose output is not kept: nobody can accept it any more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from livedata.model.problem import Remedy

# A second Run confirms a loss only while the output of the first is kept.
_OF_THE_OUTPUT: Final = frozenset(("accept", "accept_loss", "accept_paid", "confirm_loss"))
_RUN_AGAIN: Final = Remedy("run_again")


def without_output(remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The same remedies, with another Run in place of those that need the output of this one."""
    given = list(remedies)
    left = [remedy for remedy in given if remedy.code not in _OF_THE_OUTPUT]
    if len(left) < len(given) and _RUN_AGAIN not in left:
        left.append(_RUN_AGAIN)
    return tuple(left)
