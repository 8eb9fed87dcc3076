"""Checks that every output that is held for a person is there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import orjson

from livedata.model import ids
from livedata.model.ids import DatasetId
from livedata.model.run import GUARDS, KEPT_FOR
from livedata.store.audit.streams import RunRow

_KEEPS_AN_OUTPUT = frozenset({*(f"run.{guard}" for guard in GUARDS), "run.credits"})
"""The problems of Runs whose outputs a person may take."""


def missing_outputs(runs: Collection[RunRow], recipes: Mapping[DatasetId, int]) -> Iterator[RunRow]:
    """The held Runs whose output is gone, although nothing has let go of it.

    `recipes` are the newest versions of the datasets.
    """
    # An output is let go by any Run that is accepted after its time: by the clock of then.
    latest = max([ids.now(), *(run.completed_at or 0 for run in runs)])
    for run in runs:
        if run.status != "held" or run.holds or run.accepted_since:
            continue
        # A recipe with another identity lets go of what was held under the one before.
        revised = recipes.get(run.dataset) != run.recipe_version
        expired = (run.completed_at or 0) + KEPT_FOR <= latest
        if not revised and not expired and _keeps_an_output(run.problem):
            yield run


def _keeps_an_output(problem: str | None) -> bool:
    try:
        return orjson.loads(problem or "{}").get("code") in _KEEPS_AN_OUTPUT
    except (ValueError, AttributeError):
        return False
