"""Columns and the declarative source: interface 2.2 and 2.3."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticKnownError

from livedata.model.base import Entries, ExtractionName, Id, Omittable, SelectorText, Shape, Text
from livedata.model.dataset import Column, ColumnType
from livedata.model.recipe import ProxyMode, Render
from livedata.model.wire import Uuid

Ownership = Literal["collected", "user"]

Label = Annotated[Text, Field(min_length=1, max_length=120)]
Description = Annotated[Text, Field(min_length=1, max_length=500)]
ATTRIBUTE_PATTERN = r"^[A-Za-z_][A-Za-z0-9_-]*$"
AttributeName = Annotated[str, Field(min_length=1, max_length=100, pattern=ATTRIBUTE_PATTERN)]


def _no_boolean(value: object) -> object:
    # Literal[1] accepts True, because Python compares them as equal.
    if isinstance(value, bool):
        raise PydanticKnownError("literal_error", {"expected": "1"})
    return value


Version = Annotated[Literal[1], BeforeValidator(_no_boolean)]
"""Interface 2.3: the number 1, but not ``true``."""


class NewColumn(Shape):
    """Interface 2.2: a column as declared when a dataset is created; it has no id yet."""

    name: ExtractionName
    type: ColumnType
    label: Omittable[Label] = None
    ownership: Ownership = "collected"
    key: bool = False
    description: Omittable[Description] = None


class ColumnUpdate(Shape):
    """Interface 4.1: a column of a PATCH; with an id it is an existing one."""

    id: Omittable[Id] = None
    name: ExtractionName
    type: ColumnType
    label: Omittable[Label] = None
    ownership: Omittable[Ownership] = None
    key: Omittable[bool] = None
    description: Omittable[Description] = None


def pinned_column(declared: NewColumn | ColumnUpdate, column_id: Uuid) -> Column:
    """A new column as a schema keeps it."""
    column: Column = {
        "id": column_id,
        "label": declared.label or declared.name,
        "ownership": declared.ownership or "collected",
        "name": declared.name,
        "type": declared.type,
        "key": bool(declared.key),
    }
    if declared.description is not None:
        column["description"] = declared.description
    return column


class SourceRead(Shape):
    """Interface 2.3: what is read relative to one record container."""

    selector: Omittable[SelectorText] = None
    kind: Literal["text", "attribute"] = "text"
    attribute: Omittable[AttributeName] = None


class SourceField(Shape):
    """Interface 2.3: one collected column and its read."""

    name: ExtractionName
    read: SourceRead
    required: bool = False


class SourceKey(Shape):
    """Interface 2.3: one field identifies a record."""

    kind: Literal["source-key"]
    field: ExtractionName


class CompositeKey(Shape):
    """Interface 2.3: several fields together identify a record, in this order."""

    kind: Literal["composite"]
    fields: Annotated[tuple[ExtractionName, ...], Entries(50)]


Identity = Annotated[SourceKey | CompositeKey, Field(discriminator="kind")]


class SinglePage(Shape):
    """Interface 2.3: an explicit single page."""

    kind: Literal["none"]


class NextLink(Shape):
    """Interface 2.3: each page links to the next; no link is the natural end."""

    kind: Literal["next-link"]
    selector: SelectorText


class UrlPattern(Shape):
    """Interface 2.3: numbered pages; the one on which ``endSelector`` matches is the last."""

    kind: Literal["url-pattern"]
    pattern: Annotated[Text, Field(min_length=1, max_length=2048)]
    start_page: Annotated[int, Field(ge=0, le=1_000_000)] = 1
    end_selector: SelectorText


Pagination = Annotated[SinglePage | NextLink | UrlPattern, Field(discriminator="kind")]


class Source(Shape):
    """Interface 2.3: a declarative source, version 1: selectors, never code."""

    version: Version
    url: Annotated[Text, Field(min_length=1, max_length=2048)]
    render: Render = "static"
    item_selector: SelectorText
    fields: Annotated[tuple[SourceField, ...], Entries(50)]
    identity: Identity
    pagination: Pagination
    max_pages: Annotated[int, Field(ge=1, le=50)] = 10
    max_items: Annotated[int, Field(ge=1, le=1000)] = 1000
    minimum_items: Annotated[int, Field(ge=0, le=1000)] = 1
    proxy: ProxyMode = "auto"
    ignore_robots: bool = False

    def pinned(self) -> dict[str, Any]:
        """The source as a recipe keeps it."""
        # With every default written out: a default that changes later changes no pinned recipe.
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def identity_fields(self) -> tuple[str, ...]:
        """The extraction names that identify a record, in their declared order."""
        identity = self.identity
        return (identity.field,) if isinstance(identity, SourceKey) else identity.fields
