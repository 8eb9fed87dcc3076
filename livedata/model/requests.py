"""The bodies of requests: interface 4.1 and 4.2."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from livedata.model.base import Entries, Id, Omittable, Scalar, Shape, Text
from livedata.model.row import MAX_REQUEST_ID, RowEdit
from livedata.model.source import ColumnUpdate, NewColumn, Source


def _once_in_any_case(values: object) -> object:
    """`values` as they are; raises ValueError if two of its ids differ only in case."""
    # Before the ids become lower case: afterwards one of the two values would be lost in silence.
    if isinstance(values, dict) and len({str(key).lower() for key in values}) < len(values):
        raise ValueError("names the same field twice, in different case")
    return values


def _each_once(fields: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(fields)) < len(fields):
        raise ValueError("names the same field twice")
    return fields


DatasetName = Annotated[Text, Field(min_length=1, max_length=120)]
Question = Annotated[Text, Field(min_length=1, max_length=1000)]
Schedule = Annotated[Text, Field(min_length=9, max_length=100)]
Version = Annotated[int, Field(ge=1)]
ColumnUpdates = Annotated[tuple[ColumnUpdate, ...], Entries(50)]
CellValues = Annotated[dict[Id, Scalar], Entries(50), BeforeValidator(_once_in_any_case)]
FieldIds = Annotated[tuple[Id, ...], Entries(50), AfterValidator(_each_once)]


class CreateDataset(Shape):
    """Interface 4.1: the body of POST /v1/datasets, and what ``source.toml`` holds."""

    name: DatasetName = Field(
        description="The name by which every command knows the dataset.", examples=["products"]
    )
    question: Omittable[Question] = Field(
        None,
        description="What the dataset is for, in your own words.",
        examples=["Which products are there, and what do they cost?"],
    )
    columns: Annotated[tuple[NewColumn, ...], Entries(50)] = Field(
        description="What the table holds, in the order in which it is shown.",
        examples=[[{"name": "link", "type": "string", "key": True}]],
    )
    source: Source = Field(
        description="Where the records are, and how each is read.",
        examples=[
            {
                "version": 1,
                "url": "https://shop.example/products",
                "itemSelector": "li.product",
                "fields": [
                    {"name": "link", "read": {"kind": "attribute", "attribute": "href"}},
                ],
                "identity": {"kind": "source-key", "field": "link"},
                "pagination": {"kind": "none"},
            }
        ],
    )


class UpdateDataset(Shape):
    """Interface 4.1: the body of PATCH /v1/datasets/{datasetId}; what is absent stays."""

    expected_schema_version: Omittable[Version] = None
    name: Omittable[DatasetName] = None
    question: Question | None = None
    columns: Omittable[ColumnUpdates] = None
    status: Omittable[Literal["draft", "active", "paused"]] = None
    schedule: Schedule | None = None

    @model_validator(mode="after")
    def _says_enough(self) -> Self:
        # Sent, not set: {"question": null} changes something.
        if not self.model_fields_set:
            raise PydanticCustomError("nothing", "must name at least one property to change")
        # Columns are replaced as a whole, so a change that the client has not seen would be undone.
        if self.columns is not None and self.expected_schema_version is None:
            why = "is required where columns are sent"
            raise PydanticCustomError("missing_version", why, {"at": "expectedSchemaVersion"})
        return self


class EditRow(Shape):
    """Interface 4.2: the body of PATCH on a row; ``values`` and ``resetFieldIds`` disjoint."""

    expected_revision_id: Id
    request_id: Annotated[Text, Field(min_length=1, max_length=MAX_REQUEST_ID)]
    values: Omittable[CellValues] = None
    reset_field_ids: Omittable[FieldIds] = None

    def row_edit(self) -> RowEdit:
        """The edit that the body asks for."""
        return RowEdit(
            self.expected_revision_id, self.request_id, self.values, self.reset_field_ids
        )
