"""What a program that runs knows of the tables: their version, and of each what `schema.py` has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

VERSION = "0035"
"""The newest migration."""


class Archived(Struct, frozen=True):
    """What of a table is archived: its columns with their kinds, and of which rows."""

    columns: Mapping[str, str]
    """``id``, ``bytes``, ``text`` or ``integer``, with ``?`` if it may be null."""
    order: str
    where: str
    later: Sequence[str] = ()
    """Those that the first version of the format has not."""


class DescribedTable(Struct, frozen=True):
    """A table of the store."""

    name: str
    key: str
    """The column that names its rows: the first of its primary key."""
    json: Mapping[str, str] = {}
    """Its columns of JSON, and the `JsonColumn` of each as ``module:name``."""
    compressed: Sequence[str] = ()
    """Those of them that may be compressed."""
    packed: Mapping[str, str] = {}
    """Its columns of compressed bytes, and what reads each, as ``module:name``."""
    versions: Mapping[str, str] = {}
    """Its columns that name a version of the dataset, and the table that has those."""
    moments: Sequence[str] = ()
    unique: Sequence[str] = ()
    """What its unique indexes are over, with commas between, but its primary key."""
    archived: Archived | None = None
    research: bool = False
    """Whether only research keeps something in it."""
