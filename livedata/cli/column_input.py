"""Reads columns as people name them, and values as they type them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from livedata.model.errors import Invalid, NotFound
from livedata.model.row import MAX_NUMBER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import Column
    from livedata.model.row import Scalar


# Bounded, because int() of very many digits is slow, and refused by Python after 4,300 of them.
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


def find_column(columns: Sequence[Column], given: str) -> Column:
    """Find the column of this name, of this id, or of an id that only it begins or ends with."""
    # Names first: a name such as "a1" may also be a part of an id.
    for column in columns:
        if given == column["name"]:
            return column
    # Tables on a terminal show the last group of an id, so its end names it as its beginning does.
    part = given.lower()
    # The empty text begins every id, and names nothing.
    matches = [column for column in columns if part and _is_end(part, column["id"])]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise NotFound(f"{given!r} is a part of {len(matches)} column ids; write more of it.")
    names = ", ".join(column["name"] for column in columns)
    raise NotFound(f"There is no column {given!r}. There is: {names}.")


def _is_end(text: str, ident: str) -> bool:
    return ident.startswith(text) or ident.endswith(text)


def split_assignment(text: str, meaning: str) -> tuple[str, str]:
    """Split ``name=text`` into its two sides."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(f"{text!r} must be written {meaning}.")
    return name, value


def parse_value(column: Column, text: str) -> Scalar:
    """Read `text` as a value of the column's type; an empty text is null."""
    if not text:
        return None
    if column["type"] == "number":
        return _number(column["name"], text)
    if column["type"] == "boolean":
        if text.lower() not in {"true", "false"}:
            raise Invalid(f"{column['name']} must be true or false, not {text!r}.")
        return text.lower() == "true"
    # A date or an address is a string here: the rules of edits judge it.
    return text


def _number(name: str, text: str) -> int | float:
    try:
        number = int(text) if _WHOLE.fullmatch(text) else float(text)
    except ValueError:
        raise Invalid(f"{name} must be a number such as 12 or 9.50, not {text!r}.") from None
    if not abs(number) <= MAX_NUMBER:  # NaN is not smaller than anything
        raise Invalid(f"{name} must be a number of at most 2^53 ({MAX_NUMBER}), not {text[:40]!r}.")
    return int(number) if isinstance(number, float) and number.is_integer() else number
