"""The work that reading takes, counted in nodes looked at: the same count on every machine."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

PAGE_LIMIT: Final = 1_250_000
"""The work that one page may take, about 0.5 s; a list of 5 MB with 50 fields takes 1,000,000."""
RUN_LIMIT: Final = 30_000_000
"""The work that all pages of a Run may take."""


class TooMuchWork(Exception):
    """Reading takes more work than a page or a Run may; `selector` takes the most of it."""

    def __init__(self, selector: str, limit: int) -> None:
        super().__init__(selector, limit)
        self.selector = selector
        self.limit = limit


class Work:
    """Counts work by the selector that it is done for; raises `TooMuchWork` over its limit.

    `parsing` is what was done before, for no selector; `done` is all that was counted.
    """

    def __init__(self, limit: int = PAGE_LIMIT, parsing: int = 0) -> None:
        self._limit = limit
        self._parsing = parsing
        self.done = parsing
        self._by_selector: defaultdict[str, int] = defaultdict(int)

    def spend(self, nodes: int, selector: str) -> None:
        """Count so many nodes as looked at for a selector."""
        self.done += nodes
        self._by_selector[selector] += nodes
        if self.done > self._limit:
            most = max(self._by_selector, key=self._by_selector.__getitem__)
            raise TooMuchWork(most, self._limit)

    def include(self, other: Work) -> None:
        """Count what another has counted, such as that of a page to that of its Run."""
        self.done += other._parsing
        # One by one, so that a Run over its limit can name the selector that took most of it.
        for selector, nodes in other._by_selector.items():
            self.spend(nodes, selector)
