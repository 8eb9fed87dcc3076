"""A pinned recipe: what a Run executes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from livedata.model.source import Source

CellType = Literal["string", "number", "boolean"]


@dataclass(frozen=True, slots=True)
class RecipeField:
    """A collected column as a Run needs it; `position` is its place in a stored row."""

    id: str
    name: str
    label: str
    type: CellType
    position: int
    required: bool


@dataclass(frozen=True, slots=True)
class Recipe:
    """A source with the ids, types and stored positions of its fields, in the source's order."""

    version: int
    source: Source
    fields: tuple[RecipeField, ...]

    @property
    def key_indexes(self) -> tuple[int, ...]:
        """The indexes of the identity's fields in `fields`, in the identity's order."""
        # The order is part of a composite key: it may differ from the order of the fields.
        names = [field.name for field in self.fields]
        return tuple(names.index(name) for name in self.source.identity_fields)

    @property
    def composite(self) -> bool:
        """Whether several fields together identify a record."""
        return self.source.identity.kind == "composite"
