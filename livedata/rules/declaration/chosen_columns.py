"""What a person chooses of a proposed declaration: which columns, what they are called, the key."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from livedata.model.errors import Detail, Invalid

LONGEST_TITLE: Final = 120
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
_LONGEST_NAME: Final = 40


class ChosenColumn(Struct, frozen=True):
    """A column of a proposal that is kept, and what a person calls it."""

    name: str
    title: str


def title_of(column: Mapping[str, Any]) -> str:
    """What a person reads of a declared column."""
    return str(column.get("label") or column["name"])


def choose(
    proposed: Mapping[str, Any], kept: Sequence[ChosenColumn], key: Sequence[str]
) -> dict[str, Any]:
    """A proposed declaration with these columns alone, called so, and this key.

    Columns that are called anew get names for programs, alike where that is possible. Raises
    Invalid with a detail for every wrong place.
    """
    titles = {column.name: " ".join(column.title.split()) for column in kept}
    _check(titles, key)
    columns = [column for column in proposed["columns"] if column["name"] in titles]
    names = _names(columns, titles)
    source = proposed["source"]
    fields = [field for field in source["fields"] if field["name"] in names]
    return {
        **proposed,
        "columns": [_column(column, titles, names, key) for column in columns],
        "source": {
            **source,
            "fields": [_field(field, names, key) for field in fields],
            "identity": _identity([names[name] for name in key]),
        },
    }


def _check(titles: Mapping[str, str], key: Sequence[str]) -> None:
    details = [] if titles else [Detail("columns", "must be one at least: tick those to keep")]
    for name, title in titles.items():
        if not title:
            details.append(Detail(f"the name of {name}", "must not be empty"))
        elif len(title) > LONGEST_TITLE:
            details.append(Detail(f"the name of {name}", f"has more than {LONGEST_TITLE} letters"))
    if titles and not key:
        details.append(Detail("the key", "must be one of those that are shown"))
    untold = [name for name in key if titles and name not in titles]
    why = "is the key, or part of it: tick it, or choose another"
    details += [Detail(name, why) for name in untold]
    if details:
        raise Invalid("; ".join(f"{each.path} {each.message}" for each in details), tuple(details))


def _names(columns: Iterable[Mapping[str, Any]], titles: Mapping[str, str]) -> dict[str, str]:
    """The name of each column by what it was called before: as before where that is kept."""
    names: dict[str, str] = {}
    anew = []
    for column in columns:
        if titles[column["name"]] == title_of(column):
            names[column["name"]] = column["name"]
        else:
            anew.append(column["name"])
    # Those that keep their names first: a new one gives way to them, and not the other way round.
    for name in anew:
        names[name] = _unlike(_plain(titles[name]) or name, names.values())
    return names


def _plain(title: str) -> str:
    """A title as a name for programs; empty if nothing is left of it."""
    if _NAME.fullmatch(title):
        return title
    # Letters lose their accents; other scripts leave nothing, and the column its name of before.
    letters = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.sub(r"[^a-z0-9]+", "_", letters).lstrip("0123456789_")
    return words[:_LONGEST_NAME].strip("_")


def _unlike(name: str, others: Iterable[str]) -> str:
    """A name that no other column has."""
    taken, number, unlike = {*others}, 2, name
    while unlike in taken:
        unlike, number = f"{name[:76]}_{number}", number + 1
    return unlike


def _column(
    column: Mapping[str, Any],
    titles: Mapping[str, str],
    names: Mapping[str, str],
    key: Sequence[str],
) -> dict[str, Any]:
    before = column["name"]
    others = {each: value for each, value in column.items() if each not in {"key", "label"}}
    declared = {**others, "name": names[before]}
    if titles[before] != names[before]:
        declared["label"] = titles[before]
    if before in key:
        declared["key"] = True
    return declared


def _field(
    field: Mapping[str, Any], names: Mapping[str, str], key: Sequence[str]
) -> dict[str, Any]:
    declared = {**field, "name": names[field["name"]]}
    # A record without its key fails the identity Check: so it is told of the cell.
    if field["name"] in key:
        declared["required"] = True
    return declared


def _identity(key: Sequence[str]) -> dict[str, Any]:
    if len(key) == 1:
        return {"kind": "source-key", "field": key[0]}
    return {"kind": "composite", "fields": [*key]}
