"""The base class of all request shapes, and the small types that they are built of."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from msgspec import Struct
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    StrictFloat,
    StrictInt,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from livedata.model.ids import ID_PATTERN


class Shape(BaseModel):
    """A thing on the wire: strict, frozen, camelCase, no property that is not named.

    Made from JSON by :func:`livedata.messages.validation.read`, which alone words the errors.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


def _storable(text: str) -> str:
    # JSON can spell both as escapes; PostgreSQL takes no NUL, UTF-8 has no half surrogates.
    if "\x00" in text:
        raise ValueError("must not contain NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not contain half of a surrogate pair") from None
    return text


def _not_null(value: object) -> object:
    # Runs for sent values only, not for the default: so null and "left out" can be told apart.
    if value is None:
        raise PydanticCustomError("null", "must not be null; leave it out instead")
    return value


T = TypeVar("T")


class _WithoutNull:
    """A note that removes null from the JSON Schema of a type."""

    # Without None in the type itself, mypy would not allow it as the value for "left out".

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        written = handler(schema)
        members = [member for member in written.pop("anyOf") if member != {"type": "null"}]
        return {**written, **(members[0] if len(members) == 1 else {"anyOf": members})}


Omittable = Annotated[T | None, BeforeValidator(_not_null), _WithoutNull()]
"""A property that may be left out but not sent as null; None stands for "left out"."""


class Entries(Struct, frozen=True):
    """A note that a list or an object has 1 to `most` entries."""

    most: int

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """The schema of the type with its bounds; their number is judged before the entries are."""
        # pydantic alone would judge each of 300,000 entries first, and name what is wrong with it.
        schema: Any = {**handler(source), "min_length": 1, "max_length": self.most}
        return core_schema.no_info_before_validator_function(self._check, schema)

    def _check(self, value: object) -> object:
        if isinstance(value, (dict, tuple)) and len(value) > self.most:
            about = {"field_type": "List", "max_length": self.most, "actual_length": len(value)}
            raise PydanticKnownError("too_long", about)
        return value


Text = Annotated[str, AfterValidator(_storable)]
"""A string that SQLite and PostgreSQL can store."""

NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*$"

Id = Annotated[str, Field(pattern=ID_PATTERN), AfterValidator(str.lower)]
"""A UUID in the form 8-4-4-4-12, in any case; its value is in lower case."""

ExtractionName = Annotated[str, Field(min_length=1, max_length=80, pattern=NAME_PATTERN)]
"""Interface 2.2: starts with a letter, then letters, digits or underscore."""

SelectorText = Annotated[Text, Field(min_length=1, max_length=500)]
"""Interface 2.3: a selector as written; its grammar is judged by ``rules.selectors``."""

Scalar = StrictBool | StrictInt | StrictFloat | Text | None
"""The value of a cell: string, number, boolean or null."""
