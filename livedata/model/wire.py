"""What a type alone does not say about an answer: its format and its bounds, for the document.

An answer is built by the store and never validated on its way out; these notes cost nothing then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True, slots=True)
class Says:
    """One keyword of JSON Schema, such as ``format`` or ``minimum``."""

    keyword: str
    value: str | int


Uuid = Annotated[str, Says("format", "uuid")]
Moment = Annotated[str, Says("format", "date-time")]
Uri = Annotated[str, Says("format", "uri")]
Count = Annotated[int, Says("minimum", 0)]
Ordinal = Annotated[int, Says("minimum", 1)]
Sentence = Annotated[str, Says("minLength", 1)]
Unknowns = Annotated[list[Annotated[str, Says("maxLength", 1000)]], Says("maxItems", 20)]
"""Specification 2.12: what was not recorded."""
