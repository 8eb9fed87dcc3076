"""Query parameters, declared once: how each is read, and how the document describes it.

Implements rules 2.3: malformed, out of range, unknown or repeated
parameters are a 400 with one detail for each of them.

A cursor (interface 4.1 and 4.2) is an opaque text that says where the next page of a list begins.
It belongs to one list with its filters, and holds the moment and the id of the last entry seen, and
a digest of the list.
"""

from __future__ import annotations

import binascii
import hashlib
import re
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from msgspec import Struct

from livedata.messages.request import format_detail, format_value, nearest, shortened, summary
from livedata.model import ids
from livedata.model.errors import MAX_DETAILS, BadRequest, Detail, NotFound
from livedata.model.ids import ID_PATTERN, parse_timestamp, raw_id

# int() of a long text takes quadratic time, and beyond 4,300 digits it raises.
_DIGITS = 100
_INTEGER = re.compile(rf"-?[0-9]{{1,{_DIGITS}}}")
_ID = re.compile(ID_PATTERN)
_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(:\d\d(\.\d+)?)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
Position = tuple[ids.Micros, str]
"""The moment and id of the last entry seen."""

# Digest of the list, moment in microseconds, id. No signature: a cursor gives no access to
# anything, since the list that it continues is read for the caller's own owner.
_CURSOR = struct.Struct(">8sq16s")


class NoSuchId(NotFound):
    """There is nothing of this id: an id is a UUID."""


class Parameter(Struct, frozen=True):
    """A query parameter. `read` returns the value of a text, or raises ValueError with a reason."""

    name: str
    about: str
    schema: Mapping[str, Any]
    read: Callable[[str], Any]
    default: Any = None
    repeatable: bool = False


def integer(
    name: str, about: str, low: int, high: int | None = None, default: int | None = None
) -> Parameter:
    """A parameter for a whole number from `low` to `high`."""
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
    """The parameter for the largest number of entries of a page."""
    return integer("limit", "How many entries to return at most.", 1, high, default)


def text(name: str, about: str, longest: int) -> Parameter:
    """A parameter for a text of 1 to `longest` characters."""

    def read(value: str) -> str:
        if not value:
            raise ValueError("must not be empty")
        if len(value) > longest:
            raise ValueError(f"must have at most {longest} characters, not {len(value)}")
        return value

    return Parameter(name, about, {"type": "string", "minLength": 1, "maxLength": longest}, read)


def uuid(name: str, about: str) -> Parameter:
    """A parameter for an id in any case; its value is in lower case."""

    def read(value: str) -> str:
        if not _ID.fullmatch(value):
            raise ValueError(f"must be a UUID, not {format_value(value)}")
        return value.lower()

    return Parameter(name, about, {"type": "string", "format": "uuid"}, read)


def timestamp(name: str, about: str) -> Parameter:
    """A parameter for a date-time with its zone; its value is in microseconds since 1970, UTC."""

    def read(value: str) -> int:
        # An unescaped + of a zone arrives as a space; nothing else could be meant here.
        repaired = value.replace(" ", "+").upper()
        try:
            if _TIMESTAMP.fullmatch(repaired):
                return parse_timestamp(repaired)
        except (ValueError, OverflowError):
            pass
        raise ValueError(
            "must be a date-time with its zone, such as 2026-01-31T08:00:00Z, "
            f"not {format_value(value)}"
        )

    return Parameter(name, about, {"type": "string", "format": "date-time"}, read)


def flag(name: str, about: str) -> Parameter:
    """A parameter for true or false; false if it is absent."""

    def read(value: str) -> bool:
        if value not in {"true", "false"}:
            raise ValueError(f"must be true or false, not {format_value(value)}")
        return value == "true"

    return Parameter(name, about, {"type": "boolean", "default": False}, read, default=False)


def switch(name: str, about: str) -> Parameter:
    """A parameter that is on with 1, for addresses that people write; true and false do as well."""

    def read(value: str) -> bool:
        if value not in {"0", "1", "true", "false"}:
            raise ValueError(f"must be 1 or 0, not {format_value(value)}")
        return value in {"1", "true"}

    schema = {"type": "string", "enum": ["0", "1", "true", "false"], "default": "0"}
    return Parameter(name, about, schema, read, default=False)


def texts(name: str, about: str, longest: int) -> Parameter:
    """A repeatable parameter for texts of 1 to `longest` characters, each at most once."""
    single = text(name, about, longest)
    schema = {"type": "array", "items": single.schema, "uniqueItems": True}
    return Parameter(name, about, schema, single.read, default=(), repeatable=True)


def names(name: str, about: str) -> Parameter:
    """A parameter for names of columns with commas between them."""

    def read(value: str) -> tuple[str, ...]:
        given = tuple(part.strip() for part in value.split(","))
        if not all(given):
            raise ValueError("must have names of columns, with commas between them: title,price")
        return given

    return Parameter(name, about, {"type": "string", "minLength": 1}, read, default=())


def choice(name: str, about: str, allowed: Sequence[str], default: str | None = None) -> Parameter:
    """A parameter for one of `allowed`."""

    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(f"must be one of {', '.join(allowed)}, not {format_value(value)}")
        return value

    schema = {"type": "string", "enum": list(allowed)}
    shown = schema if default is None else {**schema, "default": default}
    return Parameter(name, about, shown, read, default)


def choices(name: str, about: str, allowed: Sequence[str]) -> Parameter:
    """A repeatable parameter for any of `allowed`, each at most once."""

    single = choice(name, about, allowed)
    schema = {"type": "array", "items": single.schema, "uniqueItems": True}
    return Parameter(name, about, schema, single.read, default=(), repeatable=True)


def read_query(parameters: Sequence[Parameter], query: bytes) -> Mapping[str, Any]:
    """Every parameter's value or default, by name. Raises BadRequest with all that is wrong."""
    by_name = {parameter.name: parameter for parameter in parameters}
    values = {parameter.name: parameter.default for parameter in parameters}
    problems: list[Detail] = []
    for name, texts in _given(query).items():
        try:
            values[name] = _value(by_name, name, texts)
        except ValueError as error:
            problems.append(Detail(shortened(name), str(error)))
        if len(problems) == MAX_DETAILS:
            break
    if problems:
        first = summary(format_detail(problems[0]), len(problems))
        raise BadRequest(first, tuple(problems))
    return values


def read_known(parameters: Sequence[Parameter], query: bytes) -> Mapping[str, Any]:
    """The same where the interface has no 400: what is unknown or wrong is ignored."""
    values = {parameter.name: parameter.default for parameter in parameters}
    given = dict(parse_qsl(query.decode("ascii", "replace")))
    for parameter in parameters:
        with suppress(ValueError):
            if parameter.name in given:
                values[parameter.name] = parameter.read(given[parameter.name])
    return values


def path_id(value: str) -> bytes | None:
    """The 16 bytes of an id in a path; None if the text is not a UUID."""
    return raw_id(value) if _ID.fullmatch(value) else None


def identified(value: str) -> bytes:
    """The 16 bytes of an id in a path. Raises NotFound."""
    identifier = path_id(value)
    if identifier is None:
        raise NoSuchId
    return identifier


def _value(by_name: Mapping[str, Parameter], name: str, texts: Sequence[str]) -> Any:
    parameter = by_name.get(name)
    if parameter is None:
        near = nearest(name, list(by_name))
        allowed = ", ".join(by_name) or "none"
        hint = f"did you mean {near}?" if near else f"known here: {allowed}"
        raise ValueError(f"is not a parameter of this endpoint; {hint}")
    if parameter.repeatable:
        # A value that is sent twice is more likely a mistake than a wish.
        if len(set(texts)) < len(texts):
            raise ValueError("names the same value twice")
        return tuple(parameter.read(text) for text in texts)
    if len(texts) > 1:
        raise ValueError(f"must be given once, not {len(texts)} times")
    return parameter.read(texts[0])


def _given(query: bytes) -> Mapping[str, list[str]]:
    """The texts by name, in the order of the query."""
    # Not Flask's own reading: that replaces bytes that are not UTF-8 without an error.
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
    # PostgreSQL cannot store NUL in a text, so no stored name could match.
    if "\x00" in text:
        raise BadRequest("The query holds NUL.")
    return text


def write_cursor(listed: object, moment: str, entry: str) -> str:
    """The cursor to continue the list `listed` after the entry of this moment and id."""
    packed = _CURSOR.pack(_digest_of(listed), ids.parse_timestamp(moment), ids.raw_id(entry))
    return urlsafe_b64encode(packed).rstrip(b"=").decode()


def read_cursor(listed: object, cursor: str | None) -> Position | None:
    """The position in a cursor; raises BadRequest if it is not a cursor of the list `listed`."""
    if cursor is None:
        return None
    try:
        packed = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
        digest, moment, entry = _CURSOR.unpack(packed)
    except (ValueError, binascii.Error, struct.error):
        raise _foreign_cursor() from None
    # The decoder skips characters outside its alphabet, so other texts mean the same bytes.
    canonical = urlsafe_b64encode(packed).rstrip(b"=").decode() == cursor
    if digest != _digest_of(listed) or not canonical:
        raise _foreign_cursor()
    return moment, ids.format_uuid(entry)


def _foreign_cursor() -> BadRequest:
    why = "is not a cursor of this list; send the nextCursor of a page with the same filters"
    return BadRequest(f"cursor {why}.", (Detail("cursor", why),))


def _digest_of(listed: object) -> bytes:
    return hashlib.sha256(repr(listed).encode()).digest()[:8]
