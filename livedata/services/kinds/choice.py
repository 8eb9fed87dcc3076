"""The one place that chooses by the kind of a Run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from livedata.model.recipe import Kind, Recipe, run_kind

if TYPE_CHECKING:
    from livedata.model.research.recipe import ResearchRecipe
    from livedata.services.kinds.kind import RunKind


# Each is imported when it is first asked for: Runs of selectors do not pay for research, and
# questions about the rows of a dataset for neither.
def _selectors() -> RunKind:
    from livedata.services.kinds import selectors

    return selectors


def _research() -> RunKind:
    from livedata.services.kinds import research

    return research


_KINDS: Mapping[Kind, Callable[[], RunKind]] = {"selectors": _selectors, "research": _research}


def of_source(declared: object) -> RunKind:
    """The kind of the Runs that follow a stored recipe."""
    return _KINDS[run_kind(declared)]()


def of_recipe(recipe: Recipe | ResearchRecipe) -> RunKind:
    """The kind of the Runs that follow a recipe."""
    return _KINDS[recipe.kind]()
