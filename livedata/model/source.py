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

    name: ExtractionName = Field(
        description="The name by which fields and keys say the column. It never changes.",
        examples=["title", "price"],
    )
    type: ColumnType = Field(
        description="What its cells hold: string, number or boolean if it is collected; a user "
        "column may also be a date or a url. It never changes.",
    )
    label: Omittable[Label] = Field(
        None, description="How people see the column; its name, if left out.", examples=["Price"]
    )
    ownership: Ownership = Field(
        "collected",
        description="Whether Runs read it from the site, or it is your own and they never do.",
    )
    key: bool = Field(
        default=False,
        description="Whether it tells records apart: true just for the fields of identity.",
    )
    description: Omittable[Description] = Field(
        None, description="What the column means.", examples=["In pounds, with tax."]
    )


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

    selector: Omittable[SelectorText] = Field(
        None,
        description="A CSS selector within the record, whose first match counts; left out, the "
        "record's own element is read.",
        examples=["h2 > a", ".price", "td[livedata-header='Price']"],
    )
    kind: Literal["text", "attribute"] = Field(
        "text", description="Whether the text of the element is read, or an attribute of it."
    )
    attribute: Omittable[AttributeName] = Field(
        None,
        description="The attribute that is read; it stands beside kind = attribute alone.",
        examples=["href", "data-id"],
    )


class SourceField(Shape):
    """Interface 2.3: one collected column and its read."""

    name: ExtractionName = Field(description="The name of a collected column.", examples=["title"])
    read: SourceRead = Field(
        description="Where in the record the value stands.", examples=[{"selector": "h2"}]
    )
    required: bool = Field(
        default=False,
        description="Whether a Run in which one record lacks the value is not accepted.",
    )


class SourceKey(Shape):
    """Interface 2.3: one field identifies a record."""

    kind: Literal["source-key"] = Field(description="One column identifies a record.")
    field: ExtractionName = Field(
        description="The column with key = true: what the site never changes, such as an address "
        "or an article number.",
        examples=["link"],
    )


class CompositeKey(Shape):
    """Interface 2.3: several fields together identify a record, in this order."""

    kind: Literal["composite"] = Field(description="Several columns together identify a record.")
    fields: Annotated[tuple[ExtractionName, ...], Entries(50)] = Field(
        description="The columns with key = true, in the order of the row key.",
        examples=[["brand", "model"]],
    )


Identity = Annotated[SourceKey | CompositeKey, Field(discriminator="kind")]


class SinglePage(Shape):
    """Interface 2.3: an explicit single page."""

    kind: Literal["none"] = Field(description="The list is one page.")


class NextLink(Shape):
    """Interface 2.3: each page links to the next; no link is the natural end."""

    kind: Literal["next-link"] = Field(
        description="Each page links to the next, and the last one does not."
    )
    selector: SelectorText = Field(
        description="A CSS selector that matches the link.", examples=["a.next", "a[rel='next']"]
    )


class UrlPattern(Shape):
    """Interface 2.3: numbered pages; the one on which ``endSelector`` matches is the last."""

    kind: Literal["url-pattern"] = Field(description="The pages are numbered.")
    pattern: Annotated[Text, Field(min_length=1, max_length=2048)] = Field(
        description="The address of a page, with {page} once in place of its number.",
        examples=["https://shop.example/products?page={page}"],
    )
    start_page: Annotated[int, Field(ge=0, le=1_000_000)] = Field(
        1,
        description="The number of the first page: url is the pattern with this number in it.",
        examples=[1, 0],
    )
    end_selector: SelectorText = Field(
        description="A CSS selector that matches on the last page only.", examples=[".last-page"]
    )


Pagination = Annotated[SinglePage | NextLink | UrlPattern, Field(discriminator="kind")]


class Source(Shape):
    """Interface 2.3: a declarative source, version 1: selectors, never code."""

    version: Version = Field(description="The version of this format: always the number 1.")
    url: Annotated[Text, Field(min_length=1, max_length=2048)] = Field(
        description="The first page: a public http:// or https:// address.",
        examples=["https://shop.example/products"],
    )
    render: Render = Field(
        "static",
        description="Whether the page is read as the server sends it, or in a browser, once its "
        "scripts have run.",
    )
    item_selector: SelectorText = Field(
        description="A CSS selector that matches every record once: tags, classes, ids, "
        "attributes, a b and a > b.",
        examples=["li.product", "table tr[livedata-row='data']"],
    )
    fields: Annotated[tuple[SourceField, ...], Entries(50)] = Field(
        description="How each collected column is read: exactly one field for each.",
        examples=[[{"name": "title", "read": {"selector": "h2"}}]],
    )
    identity: Identity = Field(
        description="Which columns say that two records are the same thing.",
        examples=[{"kind": "source-key", "field": "link"}],
    )
    pagination: Pagination = Field(
        description="How a Run comes to the next page, and knows the last one.",
        examples=[{"kind": "next-link", "selector": "a.next"}],
    )
    max_pages: Annotated[int, Field(ge=1, le=50)] = Field(
        10, description="A list that goes on after so many pages is held.", examples=[10, 50]
    )
    max_items: Annotated[int, Field(ge=1, le=1000)] = Field(
        1000, description="A list with more distinct records is held.", examples=[1000]
    )
    minimum_items: Annotated[int, Field(ge=0, le=1000)] = Field(
        1,
        description="A Run that finds fewer distinct records fails: a broken selector is not an "
        "empty shop.",
        examples=[20],
    )
    proxy: ProxyMode = Field(
        "auto",
        description="Whether LIVEDATA_PROXY, where it is set, is used after the site has refused, "
        "always, or never.",
    )
    ignore_robots: bool = Field(
        default=False,
        description="Whether pages are read that robots.txt asks programs not to read.",
    )

    def pinned(self) -> dict[str, Any]:
        """The source as a recipe keeps it."""
        # With every default written out: a default that changes later changes no pinned recipe.
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)

    @property
    def identity_fields(self) -> tuple[str, ...]:
        """The extraction names that identify a record, in their declared order."""
        identity = self.identity
        return (identity.field,) if isinstance(identity, SourceKey) else identity.fields
