"""A value as a person reads it, whatever page it stands on."""

from __future__ import annotations

from livedata.model.row import Scalar


def words(value: Scalar) -> str:
    """A text as it is, yes or no, or a number, which has a point only if it needs one."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).removesuffix(".0")
