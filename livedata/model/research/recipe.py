"""A pinned research recipe: what a research Run executes (interface 2.10)."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from livedata.model.recipe import CollectedField, Kind

EntityKind = Literal["company", "person", "product", "event", "trend", "other"]

SEARCHED = "urn:livedata:search"
"""The address of a recipe whose pages are all searched for."""


class ResearchField(CollectedField, frozen=True):
    """A column that research collects."""


class Attribute(Struct, frozen=True):
    """One thing to find out about each entity; the model knows it by its label."""

    field: ResearchField
    description: str

    @property
    def label(self) -> str:
        """The label by which the model is asked for it."""
        return self.field.label


class TablePlan(Struct, frozen=True):
    """What the table is about, as a Run follows it: a row per entity, an attribute per question.

    `scope_fields` are labels of attributes: entities of one name differ if these differ.
    """

    title: str
    row_meaning: str
    name_label: str
    query: str
    kind: EntityKind
    kind_description: str
    scope_fields: tuple[str, ...]
    attributes: tuple[Attribute, ...]


class ResearchLimits(Struct, frozen=True):
    """What a Run may use over all its attempts; without `usd`, money is not limited."""

    pages: int = 25
    tokens: int = 2_000_000
    usd: float | None = None


class ResearchRecipe(Struct, frozen=True):
    """A question with its plan, the columns that it fills, and its limits.

    `plan` is None until the first Run has planned. With `urls` nothing is searched.
    """

    version: int
    prompt: str
    urls: tuple[str, ...]
    plan: TablePlan | None
    name: ResearchField
    evidence: ResearchField
    source: ResearchField
    limits: ResearchLimits
    kind: ClassVar[Kind] = "research"

    @classmethod
    def of(cls, recipe: object) -> Self:
        """The recipe of a Run that is known to be of research."""
        assert isinstance(recipe, cls)
        return recipe

    def of_fields(self, indexes: Collection[int]) -> Self:
        """The recipe of some of its fields alone: those of every row, and of some attributes."""
        assert self.plan is not None  # without one there are no others
        first = len(self.fields) - len(self.plan.attributes)
        asked = enumerate(self.plan.attributes, first)
        attributes = tuple(attribute for index, attribute in asked if index in indexes)
        return replace(self, plan=replace(self.plan, attributes=attributes))

    @property
    def unwritten(self) -> ResearchField:
        """The field whose value is not written on its page: the address of that page."""
        return self.source

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the collected columns, in the same order."""
        return tuple("url" if field == self.source else "string" for field in self.fields)

    @property
    def fields(self) -> tuple[ResearchField, ...]:
        """The collected columns in the order of a record's values."""
        attributes = () if self.plan is None else self.plan.attributes
        return (self.name, self.evidence, self.source, *(each.field for each in attributes))
