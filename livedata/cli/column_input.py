"""Reads columns as people name them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from livedata.model.errors import Invalid, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from livedata.model.dataset import Column


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


def parse_names(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> tuple[str, ...]:
    """The names of columns in the value of an option, with commas between them."""
    names = tuple(part.strip() for part in (value or "").split(","))
    if value is not None and not all(names):
        raise click.BadParameter("names of columns, with commas between them: title,price")
    return names if value is not None else ()


def split_assignment(text: str, meaning: str) -> tuple[str, str]:
    """Split ``name=text`` into its two sides."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(f"{text!r} must be written {meaning}.")
    return name, value
