"""Cells: from a text on a page to a value, and from values to a row's key.

Implements the reading of columns of type string, number and boolean (Specification 2.2), the
reasons of empty cells and the row key (Specification 2.4).
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from livedata.extraction.numbers import read_number

Scalar = str | int | float | bool | None
"""The value of a cell; None is an empty one (Specification 2.4, data)."""

MAX_CELL: Final = 32_768
"""The longest text of a cell, in characters."""

MAX_EXCERPT: Final = 2_048
"""The longest text that evidence keeps, in UTF-8 bytes."""

NOT_FOUND: Final = "not_found"
EXTRACTION_FAILED: Final = "extraction_failed"

_TRUE: Final = frozenset({"true", "yes", "y", "1", "on", "in stock"})
_FALSE: Final = frozenset({"false", "no", "n", "0", "off", "out of stock"})
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class CellReading(NamedTuple):
    """What a cell was read as: a value and no reason, or None and the reason why.

    The reason is None, "not_found" or "extraction_failed" (Specification 2.4, missingReasons).
    """

    value: Scalar
    reason: str | None


_NOT_FOUND: Final = CellReading(None, NOT_FOUND)
_FAILED: Final = CellReading(None, EXTRACTION_FAILED)
_IS_TRUE: Final = CellReading(value=True, reason=None)
_IS_FALSE: Final = CellReading(value=False, reason=None)


def clean(text: str) -> str:
    """Return the text as a cell stores it (Specification 2.4, data): one line, trimmed.

    NUL and lone surrogates are removed, since neither can be stored as UTF-8 text everywhere. Any
    run of whitespace becomes one space; whitespace is what Unicode calls so, and the four
    information separators U+001C to U+001F.
    """
    if "\x00" in text or not text.isascii():
        text = _UNSTORABLE.sub("", text)
    return " ".join(text.split())


def read_cell(text: str | None, kind: str) -> CellReading:
    """Read the text found for a collected cell (Specification 2.2, type; 2.4, missingReasons).

    `text` is None where nothing matched; `kind` is "string", "number" or "boolean". Nothing, or
    nothing but whitespace, is not_found; a text over `MAX_CELL` characters once cleaned, or one
    that is not of its kind, is extraction_failed. Raises ValueError for another kind.
    """
    if text is None:
        return _NOT_FOUND
    text = clean(text)
    if not text:
        return _NOT_FOUND
    if len(text) > MAX_CELL:
        return _FAILED
    if kind == "string":
        return CellReading(text, None)
    if kind == "number":
        number = read_number(text)
        return _FAILED if number is None else CellReading(number, None)
    if kind == "boolean":
        return _read_boolean(text)
    raise ValueError(f"a collected cell is a string, number or boolean, not {kind!r}")


def read_attribute(text: str | None, kind: str) -> CellReading:
    """Read the value of an attribute, which stays as it is written but for white space around it.

    White space within an address or a name means something; numbers and booleans are read as in
    :func:`read_cell`.
    """
    if text is None or kind != "string":
        return read_cell(text, kind)
    if not text:
        return _NOT_FOUND
    return _FAILED if len(text) > MAX_CELL else CellReading(text, None)


def _read_boolean(text: str) -> CellReading:
    """Read one of the twelve decided words, in any case."""
    word = text.casefold()
    if word in _TRUE:
        return _IS_TRUE
    return _IS_FALSE if word in _FALSE else _FAILED


def read_presence(found: bool, has_attribute: bool) -> CellReading:
    """Read an attribute that HTML defines as boolean, such as disabled (Specification 2.3, read).

    `found` says whether the selector matched an element, `has_attribute` whether that has the
    attribute, with any value: without an element not_found, else True or False.
    """
    if not found:
        return _NOT_FOUND
    return _IS_TRUE if has_attribute else _IS_FALSE


def same(a: Scalar, b: Scalar) -> bool:
    """Tell whether two cells hold the same (Specification 2.6: what makes a row changed).

    An absent cell is None to the caller, and so equals null; 10 equals 10.0, True never equals 1,
    strings are compared exactly.
    """
    return a == b and isinstance(a, bool) is isinstance(b, bool)


def canonical(value: Scalar) -> str | None:
    """Return the text by which a key's value is known (Specification 2.4, rowKey); None if empty.

    A string is cleaned and put in Unicode's form NFC, a boolean is "true" or "false". A number is
    the shortest text that reads back equal: 10 for 10.0, 10.5, 0 for -0.0. No integral number has
    an exponent, while a fraction below 0.0001 does: 1e-07.
    """
    if value is None:
        return None
    if isinstance(value, str):
        text = clean(value)
        return (text if text.isascii() else unicodedata.normalize("NFC", text)) or None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if value == value // 1 else repr(value)


def row_key(parts: Sequence[Scalar], *, composite: bool) -> str | None:
    """Return a row's key from its key cells (Specification 2.3, identity; 2.4, rowKey).

    `parts` are the key cells in the declared order. A source-key has one part, whose canonical
    text is the key; a composite key is a compact JSON array of the canonical texts. None if any
    part is empty. Raises ValueError without parts, or for a source-key of several.
    """
    if not parts or (len(parts) > 1 and not composite):
        raise ValueError(f"a row's key cannot be made of {len(parts)} parts")
    texts = [canonical(part) for part in parts]
    if None in texts:
        return None
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if composite else texts[0]


def excerpt(text: str) -> tuple[str, bool]:
    """Return what evidence keeps of a text, and whether that is cut (Specification 2.5).

    The longest beginning of at most `MAX_EXCERPT` UTF-8 bytes that ends between two characters.
    `text` is one that `clean` has left: a lone surrogate raises UnicodeEncodeError.
    """
    # A character is a byte at least: what lies beyond this slice could not be kept anyway.
    encoded = text[: MAX_EXCERPT + 1].encode()
    if len(encoded) <= MAX_EXCERPT:
        return text, False
    return encoded[:MAX_EXCERPT].decode(errors="ignore"), True
