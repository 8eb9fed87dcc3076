"""Checks that every output that is held for a person is there."""

from __future__ import annotations

import orjson

from livedata.model.ids import Micros
from livedata.model.run import GUARDS, KEPT_FOR
from livedata.store.audit.streams import RunRow

_KEEPS_AN_OUTPUT = frozenset({*(f"run.{guard}" for guard in GUARDS), "run.credits"})
"""The problems of Runs whose outputs a person may take."""


def lacks_output(run: RunRow, newest_recipe: int | None, latest: Micros) -> bool:
    """Whether a held Run has no output, although nothing has let go of it by the `latest` moment.

    An output is let go of by any Run that is accepted after its time: by the clock of then.
    """
    if run.status != "held" or run.holds or run.accepted_since:
        return False
    # A recipe with another identity lets go of what was held under the one before.
    revised = newest_recipe != run.recipe_version
    expired = (run.completed_at or 0) + KEPT_FOR <= latest
    return not revised and not expired and _keeps_an_output(run.problem)


def _keeps_an_output(problem: str | None) -> bool:
    try:
        return orjson.loads(problem or "{}").get("code") in _KEEPS_AN_OUTPUT
    except (ValueError, AttributeError):
        return False
