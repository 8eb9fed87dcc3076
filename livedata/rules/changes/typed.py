"""Values as people type them, at a shell or in a form."""

from __future__ import annotations

import re
from typing import Final

from livedata.model.dataset import Column
from livedata.model.errors import Invalid
from livedata.model.row import MAX_NUMBER, Scalar

# Bounded, because int() of very many digits is slow, and refused by Python after 4,300 of them.
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,30}")


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
