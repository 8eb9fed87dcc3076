"""Cells: from a text on a page to a value, and from values to the key of a row.

Implements the reading of columns of type string, number and boolean (interface 2.2), the
reasons of empty cells and the row key (interface 2.4).
"""

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, NamedTuple

from livedata.extraction.numbers import read_number
from livedata.extraction.text import SET_OFF

Scalar = str | int | float | bool | None
"""The value of a cell; None is an empty one (interface 2.4, data)."""

MAX_CELL: Final = 32_768
"""The longest text of a cell, in characters."""

MAX_EXCERPT: Final = 2_048
"""The longest text that evidence keeps, in UTF-8 bytes."""

NOT_FOUND: Final = "not_found"
EXTRACTION_FAILED: Final = "extraction_failed"

_TRUE: Final = frozenset({"true", "yes", "y", "1", "on", "in stock"})
_FALSE: Final = frozenset({"false", "no", "n", "0", "off", "out of stock"})
# NUL and lone surrogates cannot be stored as UTF-8 text everywhere.
_SURROGATES = re.compile("[\ud800-\udfff]+")
# Combining marks, and symbols too, which are told from them only one by one.
_MARKS = re.compile(r"[^\w\s\x00-\u02ff]+")
_MOST_MARKS = 30  # in a row, as in Unicode's stream-safe text format
# 19<sup>99</sup> is neither 1999 nor 19.99 for sure.
_SET_OFF_DIGITS = re.compile(rf"\d(?:\s*{SET_OFF})+\s*\d")


class CellReading(NamedTuple):
    """A cell as read: a value without a reason, or None with the reason why it is empty.

    The reason is None, "not_found" or "extraction_failed" (interface 2.4, missingReasons).
    """

    value: Scalar
    reason: str | None


_NOT_FOUND: Final = CellReading(None, NOT_FOUND)
_FAILED: Final = CellReading(None, EXTRACTION_FAILED)
_IS_TRUE: Final = CellReading(value=True, reason=None)
_IS_FALSE: Final = CellReading(value=False, reason=None)


def clean(text: str) -> str:
    """The text as a cell stores it (interface 2.4, data): one line, trimmed.

    NUL and lone surrogates are removed. Any run of whitespace becomes one space.
    """
    # In this order for speed: a page may have a NUL, or a mark, at every second character.
    text = text.replace("\x00", "")
    if not text.isascii():
        text = _SURROGATES.sub("", text)
    # split() takes for whitespace what Unicode does, and the separators U+001C to U+001F.
    return " ".join(text.split())


def read_cell(text: str | None, kind: str) -> CellReading:
    """The cell that a text is read as (interface 2.2, type; 2.4, missingReasons).

    `text` is None if nothing matched; `kind` is "string", "number" or "boolean". No text, or only
    whitespace, is not_found. A text that is not of its kind, or has more than `MAX_CELL`
    characters once it is clean, is extraction_failed. So is a number some of whose digits are
    superscript or subscript, as the marks in a marked text say. Raises ValueError for another kind.
    """
    if text is None:
        return _NOT_FOUND
    marked, text = text, clean(text)
    if not text:
        return _NOT_FOUND
    if len(text) > MAX_CELL:
        return _FAILED
    if kind == "string":
        return CellReading(text, None)
    if kind == "number":
        if SET_OFF in marked and _SET_OFF_DIGITS.search(marked):
            return _FAILED
        number = read_number(text)
        return _FAILED if number is None else CellReading(number, None)
    if kind == "boolean":
        return _read_boolean(text)
    raise ValueError(f"a collected cell is a string, number or boolean, not {kind!r}")


def read_attribute(text: str | None, kind: str) -> CellReading:
    """The cell that the value of an attribute is read as.

    A string stays as it is; numbers and booleans are read as in :func:`read_cell`.
    """
    if text is None or kind != "string":
        return read_cell(text, kind)
    # Not cleaned: white space inside an address or a name means something.
    if not text:
        return _NOT_FOUND
    return _FAILED if len(text) > MAX_CELL else CellReading(text, None)


def _read_boolean(text: str) -> CellReading:
    """The cell for one of the twelve words of booleans, in any case."""
    word = text.casefold()
    if word in _TRUE:
        return _IS_TRUE
    return _IS_FALSE if word in _FALSE else _FAILED


def read_presence(matched: bool, has_attribute: bool) -> CellReading:
    """The cell for a boolean attribute of HTML, such as disabled (interface 2.3, read).

    `matched` says whether the selector matched an element, `has_attribute` whether this element
    has the attribute, with any value. Without an element the cell is not_found.
    """
    if not matched:
        return _NOT_FOUND
    return _IS_TRUE if has_attribute else _IS_FALSE


def same(a: Scalar, b: Scalar) -> bool:
    """Whether two cells are equal (interface 2.6: what makes a row changed).

    10 equals 10.0, True is not 1, strings are compared exactly. An absent cell is None.
    """
    # To Python True == 1, and True is an int.
    return a == b and isinstance(a, bool) is isinstance(b, bool)


def canonical(value: Scalar) -> str | None:
    """The text of a value inside a row's key (interface 2.4, rowKey); None if it is empty.

    A string is cleaned and in Unicode's form NFC; one with over 30 marks or symbols in a row is
    only cleaned, since no language writes so. A boolean is "true" or "false". A number is
    the shortest text that reads back equal: 10 for 10.0, 10.5, 0 for -0.0. No integral number has
    an exponent, but a fraction below 0.0001 has one: 1e-07.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _normalized(clean(value)) or None
    if isinstance(value, bool):
        return "true" if value else "false"
    # int() first: repr(1e22) has an exponent, and repr(10.0) is not that of 10.
    return str(int(value)) if value == value // 1 else repr(value)


def _normalized(text: str) -> str:
    # normalize() takes quadratic time for marks in a row: seconds for those that a cell can hold.
    if text.isascii() or max(map(len, _MARKS.findall(text)), default=0) > _MOST_MARKS:
        return text
    # Two spellings of é look alike; in a key they must be one.
    return unicodedata.normalize("NFC", text)


def row_key(parts: Sequence[Scalar], *, composite: bool) -> str | None:
    """The key of a row from its key cells (interface 2.3, identity; 2.4, rowKey).

    `parts` are the key cells in the declared order. A source-key has one part: its canonical
    text is the key. A composite key is a compact JSON array of the canonical texts. None if any
    part is empty. Raises ValueError without parts, or for a source-key of several.
    """
    if not parts or (len(parts) > 1 and not composite):
        raise ValueError(f"a row's key cannot be made of {len(parts)} parts")
    # JSON and not a separator: no value can then be spelt so that two rows get one key.
    texts = [canonical(part) for part in parts]
    if None in texts:
        return None
    return json.dumps(texts, ensure_ascii=False, separators=(",", ":")) if composite else texts[0]


def excerpt(text: str) -> tuple[str, bool]:
    """The part of a text that evidence keeps, and whether it is cut (interface 2.5).

    That is the longest beginning of at most `MAX_EXCERPT` UTF-8 bytes that ends between two
    characters. Raises UnicodeEncodeError for a lone surrogate, which `clean` removes.
    """
    # A character has at least one byte, so what follows this slice would be cut anyway.
    encoded = text[: MAX_EXCERPT + 1].encode()
    if len(encoded) <= MAX_EXCERPT:
        return text, False
    # "ignore" drops the character that the cut has split.
    return encoded[:MAX_EXCERPT].decode(errors="ignore"), True
