"""Datasets are due while everything fails; ``python -m tests.unattended`` is the whole of it."""

from __future__ import annotations

import pytest

from tests.unattended import play

pytestmark = [pytest.mark.postgres, pytest.mark.slow]


def test_every_run_ends_once_whatever_is_killed_stopped_or_lost() -> None:
    seen = play(12, 6, kill_every=2)
    assert seen.wrong == []
    # Else nothing was shown.
    assert seen.kills > 0
    assert seen.outages == 1
