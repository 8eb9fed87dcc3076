"""What JSON on the wire may be: types of answers with format and bounds, and how deep it may nest.

The types are for the OpenAPI document. The store builds answers, and nothing validates them before
they are sent: these notes cost no time.
"""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

MAX_DEPTH: Final = 64


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


def too_deep(value: object) -> bool:
    """Whether `value` is nested more than ``MAX_DEPTH`` levels deep."""
    # Level by level instead of recursion: a deep value must not end in RecursionError.
    level: list[Any] = [[value]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for part in level
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, (dict, list, tuple))
        ]
    return bool(level)
