"""The pinned versions of a dataset's source, as Runs execute them."""

from __future__ import annotations

from pydantic import ValidationError

from livedata.model.recipe import Recipe, RecipeField
from livedata.model.source import Source
from livedata.store import recipes
from livedata.store.database.backend import Reader
from livedata.store.database.codec import Fields, dump
from livedata.store.datasets import DatasetRef


def pinned_recipe(reader: Reader, dataset: DatasetRef, version: int) -> Recipe | None:
    """A recipe of a dataset; None if it is not a declaration of version 1."""
    _, declared = recipes.source(reader, dataset.id, version)
    # A store may hold sources of other versions, which this one cannot execute.
    try:
        source = Source.model_validate_json(dump(declared), by_name=False)
    except ValidationError:
        return None
    return _recipe(source, version, dataset.fields)


def _recipe(source: Source, version: int, fields: Fields) -> Recipe:
    """The recipe of a source, with the ids, types and positions of its fields."""
    # By name: a source names its fields, and names of columns never change, unlike labels.
    by_name = {column["name"]: column for column in fields.columns.values()}
    positions = fields.positions
    return Recipe(
        version,
        source,
        tuple(
            RecipeField(
                id=by_name[field.name]["id"],
                name=field.name,
                label=by_name[field.name]["label"],
                type=by_name[field.name]["type"],  # type: ignore[arg-type]  # checked at creation
                position=positions[by_name[field.name]["id"]],
                required=field.required,
            )
            for field in source.fields
        ),
    )
