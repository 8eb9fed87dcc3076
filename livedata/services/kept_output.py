"""The kept output of a held Run, and what it would change in the rows as they are now."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.harvest import Harvest
from livedata.rules.changes.compare import Proposal
from livedata.services.commit import propose
from livedata.store import held, recipes
from livedata.store.database.backend import Reader
from livedata.store.datasets import DatasetRef


class KeptOutput(Struct, frozen=True):
    """What a held Run has read, and what accepting that would change now."""

    harvest: Harvest
    proposal: Proposal


def kept_output(
    reader: Reader, dataset: DatasetRef, recipe_version: int, packed: bytes
) -> KeptOutput:
    """The packed output of a Run that read by a version of the recipe of its dataset."""
    recipe = recipes.pinned(reader, dataset.id, dataset.fields, recipe_version)
    assert recipe is not None  # nothing is held of a Run that was not executed
    harvest = held.deserialize_harvest(packed, recipe)
    return KeptOutput(harvest, propose(reader, dataset, recipe, harvest))
