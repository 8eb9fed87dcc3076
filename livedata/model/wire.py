"""Types of answers with their format and bounds, for the OpenAPI document.

The store builds answers, and nothing validates them before they are sent: these notes cost no time.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote, urlsplit

from msgspec import Struct


class SchemaKeyword(Struct, frozen=True):
    """A keyword of JSON Schema with its value, such as ``format`` or ``minimum``."""

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
"""Interface 2.12: what was not recorded."""

_KEPT_IN_URI = "%/:?#[]@!$&'()*+,;=~"


def as_uri(address: str) -> str:
    """A web address as a URI: ``https://ä.example/ü`` is ``https://xn--4ca.example/%C3%BC``."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    try:
        plain = parts.netloc.replace(host, host.encode("idna").decode())
    except UnicodeError:  # no name that DNS has; it stays a name, in percent signs
        plain = parts.netloc
    return quote(parts._replace(netloc=plain).geturl(), safe=_KEPT_IN_URI)
