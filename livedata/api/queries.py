"""Query parameters, declared once: how each is read, and how the document describes it.

Implements "Errors over HTTP" of the decisions: malformed, out of range, unknown, or given twice
where one is meant is a 400, with one detail for every parameter that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_to_bytes

from livedata.messages.request import format_detail, format_value, nearest, summary
from livedata.model.base import ID_PATTERN
from livedata.model.errors import BadRequest, Detail
from livedata.model.ids import parse_timestamp, raw_id

_DIGITS = 100
"""More digits than any number that an answer could hold: not read at all."""
_INTEGER = re.compile(rf"-?[0-9]{{1,{_DIGITS}}}")
_ID = re.compile(ID_PATTERN)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter. `read` makes a value of a text, or raises ValueError saying why not."""

    name: str
    about: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    default: Any = None
    repeatable: bool = False


def integer(
    name: str, about: str, low: int, high: int | None = None, default: int | None = None
) -> Parameter:
    """A whole number from `low` to `high`."""
    schema = {"type": "integer", "minimum": low, "maximum": high, "default": default}

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text):
            raise ValueError(f"must be a whole number, not {format_value(text)}")
        number = int(text)
        if number < low:
            raise ValueError(f"must be at least {low}, not {text}")
        if high is not None and number > high:
            raise ValueError(f"must be at most {high}, not {text}")
        return number

    shown = {key: value for key, value in schema.items() if value is not None}
    return Parameter(name, about, shown, read, default)


def limit(default: int, high: int) -> Parameter:
    """How many entries a page has at most."""
    return integer("limit", "How many entries to return at most.", 1, high, default)


def text(name: str, about: str, longest: int) -> Parameter:
    """A text of 1 to `longest` characters."""

    def read(value: str) -> str:
        if not value:
            raise ValueError("must not be empty")
        if len(value) > longest:
            raise ValueError(f"must have at most {longest} characters, not {len(value)}")
        return value

    return Parameter(name, about, {"type": "string", "minLength": 1, "maxLength": longest}, read)


def uuid(name: str, about: str) -> Parameter:
    """An id, in any case; its lower case."""

    def read(value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError(f"must be a UUID, not {format_value(value)}")
        return value.lower()

    return Parameter(name, about, {"type": "string", "format": "uuid"}, read)


def moment(name: str, about: str) -> Parameter:
    """A date-time with its zone; its microseconds."""

    def read(value: str) -> int:
        # An unescaped + arrives as a space; nothing else could be meant here.
        when = value.replace(" ", "+").upper()
        try:
            if _MOMENT.fullmatch(when):
                return parse_timestamp(when)
        except (ValueError, OverflowError):
            pass
        raise ValueError(
            "must be a date-time with its zone, such as 2026-01-31T08:00:00Z, "
            f"not {format_value(value)}"
        )

    return Parameter(name, about, {"type": "string", "format": "date-time"}, read)


def flag(name: str, about: str) -> Parameter:
    """true or false."""

    def read(value: str) -> bool:
        if value not in {"true", "false"}:
            raise ValueError(f"must be true or false, not {format_value(value)}")
        return value == "true"

    return Parameter(name, about, {"type": "boolean", "default": False}, read, default=False)


def choices(name: str, about: str, known: Sequence[str]) -> Parameter:
    """Any of `known`, each at most once."""

    def read(value: str) -> str:
        if value not in known:
            raise ValueError(f"must be one of {', '.join(known)}, not {format_value(value)}")
        return value

    schema = {
        "type": "array",
        "items": {"type": "string", "enum": list(known)},
        "uniqueItems": True,
    }
    return Parameter(name, about, schema, read, default=(), repeatable=True)


def read_query(parameters: Sequence[Parameter], query: bytes) -> Mapping[str, Any]:
    """Every parameter with its value or default; raises BadRequest with all that is wrong."""
    known = {parameter.name: parameter for parameter in parameters}
    values = {parameter.name: parameter.default for parameter in parameters}
    wrong: list[Detail] = []
    for name, texts in _given(query).items():
        try:
            values[name] = _value(known, name, texts)
        except ValueError as error:
            wrong.append(Detail(name, str(error)))
    if wrong:
        first = summary(format_detail(wrong[0]), len(wrong))
        raise BadRequest(first, tuple(wrong))
    return values


def path_id(value: str) -> bytes | None:
    """The 16 bytes of an id in a path; None where it is not a UUID."""
    return raw_id(value) if _ID.fullmatch(value) else None


def _value(known: Mapping[str, Parameter], name: str, texts: Sequence[str]) -> Any:
    parameter = known.get(name)
    if parameter is None:
        near = nearest(name, list(known))
        allowed = ", ".join(known) or "none"
        hint = f"did you mean {near}?" if near else f"known here: {allowed}"
        raise ValueError(f"is not a parameter of this endpoint; {hint}")
    if parameter.repeatable:
        if len(set(texts)) < len(texts):
            raise ValueError("names the same value twice")
        return tuple(parameter.read(one) for one in texts)
    if len(texts) > 1:
        raise ValueError(f"must be given once, not {len(texts)} times")
    return parameter.read(texts[0])


def _given(query: bytes) -> Mapping[str, list[str]]:
    """The texts by name, in the order of the query."""
    given: dict[str, list[str]] = {}
    for part in query.split(b"&"):
        if part:
            name, _, value = part.partition(b"=")
            given.setdefault(_decoded(name), []).append(_decoded(value))
    return given


def _decoded(part: bytes) -> str:
    try:
        text = unquote_to_bytes(part.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise BadRequest("The query is not UTF-8.") from None
    if "\x00" in text:
        raise BadRequest("The query holds NUL.")
    return text
