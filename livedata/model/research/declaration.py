"""What a person declares of a research dataset: a question or a plan, addresses and limits."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from livedata.model.base import Entries, Omittable, Shape, Text
from livedata.model.requests import DatasetName, Question
from livedata.model.research.recipe import EntityKind, ResearchLimits
from livedata.model.research.stored import DeclaredPlan
from livedata.model.source import Description, Label

Words = Annotated[Text, Field(min_length=1, max_length=500)]
Query = Annotated[Text, Field(min_length=1, max_length=400)]
Url = Annotated[Text, Field(min_length=1, max_length=2048)]
Urls = Annotated[tuple[Url, ...], Field(max_length=20)]
MaxPages = Annotated[int, Field(ge=1, le=50)]
MaxTokens = Annotated[int, Field(ge=1_000, le=100_000_000)]
MaxUsd = Annotated[float, Field(gt=0, le=1_000_000, allow_inf_nan=False)]
DEFAULTS = ResearchLimits()


class DeclaredAttribute(Shape):
    """Rules 14.1: what is asked of each entity, and the label of its column."""

    label: Label
    description: Description


class DeclaredIdentity(Shape):
    """Rules 14.1: what a row stands for; the scope fields tell entities of one name apart."""

    description: Words
    kind: EntityKind
    scope_fields: Annotated[tuple[Label, ...], Field(max_length=12)] = ()


class ResearchPlan(Shape):
    """Interface 2.10: a plan before it is pinned."""

    title: Words
    row_meaning: Words
    name_label: Label
    query: Query
    row_identity: DeclaredIdentity
    attributes: Annotated[tuple[DeclaredAttribute, ...], Entries(12)]

    @property
    def declared(self) -> DeclaredPlan:
        """The plan as the store keeps one."""
        declared: DeclaredPlan = self.model_dump(mode="json", by_alias=True)  # type: ignore[assignment]
        return declared


class PlanFile(ResearchPlan):
    """A plan as a file holds it, with the addresses and the limits of its Runs."""

    urls: Urls = ()
    max_pages: MaxPages = DEFAULTS.pages
    max_tokens: MaxTokens = DEFAULTS.tokens
    max_usd: Omittable[MaxUsd] = None

    @property
    def plan(self) -> ResearchPlan:
        """The plan alone."""
        named = {name: getattr(self, name) for name in ResearchPlan.model_fields}
        return ResearchPlan.model_construct(**named)

    @property
    def limits(self) -> ResearchLimits:
        """What a Run may use."""
        return ResearchLimits(self.max_pages, self.max_tokens, self.max_usd)


class CreateResearch(Shape):
    """Rules 14.2: the body of POST /v1/research/datasets, with a prompt or with a plan."""

    name: DatasetName
    prompt: Omittable[Question] = None
    plan: Omittable[ResearchPlan] = None
    urls: Urls = ()
    max_pages: MaxPages = DEFAULTS.pages
    max_tokens: MaxTokens = DEFAULTS.tokens
    max_usd: Omittable[MaxUsd] = None

    @model_validator(mode="after")
    def _asks_once(self) -> Self:
        if self.prompt is None and self.plan is None:
            raise PydanticCustomError("nothing", "must have a prompt or a plan")
        if self.prompt is not None and self.plan is not None:
            raise PydanticCustomError("both", "must have a prompt or a plan, not both")
        return self

    @property
    def limits(self) -> ResearchLimits:
        """What a Run may use."""
        return ResearchLimits(self.max_pages, self.max_tokens, self.max_usd)
