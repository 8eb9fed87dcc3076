"""Checks that every output that is held for a person is there."""

from __future__ import annotations

import orjson

from livedata.model.run import HELD_BY_GUARDS
from livedata.store.audit.streams import RunRow

_KEEPS_AN_OUTPUT = HELD_BY_GUARDS | {"run.credits"}
"""The problems of Runs whose outputs a person may accept."""


def lacks_output(run: RunRow, newest_recipe: int | None) -> bool:
    """Whether a held Run has no output, although nothing has let go of it.

    An output is let go of by any Run that is accepted after its time, by a recipe with another
    identity, and by age, as the steps of its Run then are too. No clock is asked here: one that was
    ahead may have been set back since.
    """
    if run.status != "held" or run.holds or run.accepted_since or run.without_steps:
        return False
    return newest_recipe == run.recipe_version and _keeps_an_output(run.problem)


def _keeps_an_output(problem: str | None) -> bool:
    try:
        return orjson.loads(problem or "{}").get("code") in _KEEPS_AN_OUTPUT
    except (ValueError, AttributeError):
        return False
