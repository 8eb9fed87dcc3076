"""Columns as people name them, and values as they type them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from livedata.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import Column
    from livedata.model.row import Scalar


_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")
MOST = 2**53
"""Up to here every whole number is exact wherever it is kept."""


def find_column(columns: Sequence[Column], given: str) -> Column:
    """The column that a person means: its name, its id, or an unambiguous end of its id."""
    for column in columns:
        if given == column["name"]:
            return column
    wanted = given.lower()
    found = [one for one in columns if wanted and _is_end(wanted, one["id"])]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{given!r} is a part of {len(found)} column ids; write more of it.")
    names = ", ".join(column["name"] for column in columns)
    raise NotFound(f"There is no column {given!r}. There is: {names}.")


def _is_end(text: str, ident: str) -> bool:
    return ident.startswith(text) or ident.endswith(text)


def split_assignment(text: str, meaning: str) -> tuple[str, str]:
    """The two sides of ``name=text``."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(f"{text!r} must be written {meaning}.")
    return name, value


def parse_value(column: Column, text: str) -> Scalar:
    """`text` as a value of the column's type; nothing is null.

    What is a string either way (a date, an address) is judged by the rules of edits.
    """
    if not text:
        return None
    if column["type"] == "number":
        return _number(column["name"], text)
    if column["type"] == "boolean":
        if text.lower() not in {"true", "false"}:
            raise Invalid(f"{column['name']} must be true or false, not {text!r}.")
        return text.lower() == "true"
    return text


def _number(name: str, text: str) -> int | float:
    try:
        number = int(text) if _WHOLE.fullmatch(text) else float(text)
    except ValueError:
        raise Invalid(f"{name} must be a number such as 12 or 9.50, not {text!r}.") from None
    if not abs(number) <= MOST:  # NaN is neither
        raise Invalid(f"{name} must be a number of at most 2^53 ({MOST}), not {text[:40]!r}.")
    return int(number) if isinstance(number, float) and number.is_integer() else number
