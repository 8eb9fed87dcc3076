"""Columns as people name them, and values as they type them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from livedata.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import Column
    from livedata.model.row import Scalar


def find_column(columns: Sequence[Column], given: str) -> Column:
    """The column that a person means: its name, its id, or the last group of its id."""
    for column in columns:
        if given == column["name"]:
            return column
    for column in columns:
        if given.lower() in {column["id"], column["id"].rpartition("-")[2]}:
            return column
    names = ", ".join(column["name"] for column in columns)
    raise NotFound(f"There is no column {given!r}. There is: {names}.")


def pair(text: str, meaning: str) -> tuple[str, str]:
    """The two sides of ``name=text``."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(f"{text!r} must be written {meaning}.")
    return name, value


def typed(column: Column, text: str) -> Scalar:
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
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        raise Invalid(f"{name} must be a number such as 12 or 9.50, not {text!r}.") from None
    return int(number) if number.is_integer() else number
