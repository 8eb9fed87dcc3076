"""The names of datasets, and who is meant by a name or an id."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Final

from livedata.model.ids import (
    ID_PATTERN,
    DatasetId,
    OwnerName,
    format_uuid,
    raw_id,
)
from livedata.store.database import statements
from livedata.store.database.backend import Reader
from livedata.store.database.statements import listed

_AFTER = """
SELECT id, name FROM datasets WHERE owner = :owner AND name > :name ORDER BY name LIMIT :limit
"""
_AT_ONCE: Final = 500
"""So many names are read at once."""


def named(reader: Reader, owner: OwnerName, name: str) -> DatasetId | None:
    """The id of the dataset of exactly that name."""
    if "\0" in name:  # no name has it, and PostgreSQL takes no text with it
        return None
    dataset: DatasetId | None = reader.value(
        "SELECT id FROM datasets WHERE owner = :owner AND name = :name", owner=owner, name=name
    )
    return dataset


def of_ids(reader: Reader, owner: OwnerName, those: Collection[str]) -> dict[str, str]:
    """The names of those of these datasets that an owner has, by their ids; no other may be one."""
    keys = {raw_id(key) for key in those if re.fullmatch(ID_PATTERN, key)}
    if not keys:
        return {}
    names, named = listed("dataset", keys)
    rows = reader.rows(
        f"SELECT id, name FROM datasets WHERE id IN ({names}) AND owner || '' = :owner",  # noqa: S608
        owner=owner,
        **named,
    )
    return {format_uuid(key): name for key, name in rows}


def after(reader: Reader, owner: OwnerName, name: str = "") -> Iterator[tuple[DatasetId, str]]:
    """(id, name) of those behind a name, by name, for a reader who may stop."""
    is_last = False
    while not is_last:
        # Some at a time: an owner may have very many, of which a reader wants a few.
        part = reader.rows(_AFTER, owner=owner, name=name, limit=_AT_ONCE)
        yield from ((row[0], row[1]) for row in part)
        is_last = len(part) < _AT_ONCE
        name = part[-1][1] if part else name


def ahead(reader: Reader, owner: OwnerName, first: str, count: int) -> str | None:
    """The name of the dataset that stands so many ahead of one; None if so many do not."""
    row = reader.row(
        "SELECT name FROM datasets WHERE owner = :owner AND name < :first "
        "ORDER BY name DESC LIMIT 1 OFFSET :ahead",
        owner=owner,
        first=first,
        ahead=count - 1,
    )
    return None if row is None else row[0]


def by_ends(reader: Reader, owner: OwnerName, given: str) -> list[tuple[DatasetId, str]]:
    """(id, name) of those that somebody means who writes the whole of an id, or either end."""
    sql = "SELECT id, name FROM datasets WHERE owner = :owner"
    rows = statements.by_ends(reader, sql, "id", given, owner=owner)
    return [(row[0], row[1]) for row in rows]
