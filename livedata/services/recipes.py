"""The pinned versions of a dataset's source, as Runs execute them."""

from __future__ import annotations

from livedata.model.recipe import Recipe, compile_recipe
from livedata.store import recipes
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef


def pinned_recipe(reader: Reader, dataset: DatasetRef, version: int) -> Recipe | None:
    """A recipe of a dataset; None if it is not a declaration of version 1."""
    _, source = recipes.source(reader, dataset.id, version)
    if not isinstance(source, dict) or source.get("version") != 1:
        return None
    fields = dataset.fields
    try:
        return compile_recipe(version, source, [fields.columns[field] for field in fields.ids])
    except (KeyError, TypeError):
        # Creation checks every source, so somebody else wrote this one: no page is asked for it.
        return None
