"""What must hold of every research Run holds in random worlds."""

from __future__ import annotations

import pytest

from tests.research import worlds


# All 3,000 are a command: python -m tests.research.worlds 3000
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_worlds_keep_the_rules_of_research(first: int) -> None:
    for seed in range(first, first + 20):
        worlds.check(seed)
