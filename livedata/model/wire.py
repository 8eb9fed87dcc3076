"""What a type alone does not say about an answer: its format and its bounds, for the document.

An answer is built by the store and never validated on its way out; these notes cost nothing then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class SchemaKeyword:
    """One keyword of JSON Schema, such as ``format`` or ``minimum``."""

    keyword: str
    value: str | int


Uuid = Annotated[str, SchemaKeyword("format", "uuid")]
Timestamp = Annotated[str, SchemaKeyword("format", "date-time")]
Uri = Annotated[str, SchemaKeyword("format", "uri")]
NonNegativeInt = Annotated[int, SchemaKeyword("minimum", 0)]
PositiveInt = Annotated[int, SchemaKeyword("minimum", 1)]
Sentence = Annotated[str, SchemaKeyword("minLength", 1)]
Unknowns = Annotated[
    list[Annotated[str, SchemaKeyword("maxLength", 1000)]], SchemaKeyword("maxItems", 20)
]
"""Specification 2.12: what was not recorded."""
