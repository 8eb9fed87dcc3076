"""The entities that rows stand for, and all by which they are found again."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from livedata.model.ids import DatasetId
from livedata.model.research.outcome import RowIdentity
from livedata.model.research.recipe import EntityKind
from livedata.model.research.record import KnownEntity
from livedata.model.row import ResearchRowIdentity
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn, dump
from livedata.store.database.statements import listed

IDENTITY = JsonColumn[RowIdentity](RowIdentity)
AT_ONCE = 500
"""How many keys one question names."""

# What was known of an entity is part of what is known of it now: the harness adds, and drops none.
_KEEP = """
INSERT INTO entities (dataset_id, key, number, identity)
VALUES (:dataset, :key, :number, :identity)
ON CONFLICT (dataset_id, key) DO UPDATE SET identity = excluded.identity
"""


def keep(writer: Writer, dataset: DatasetId, identities: Mapping[str, RowIdentity]) -> None:
    """Keep entities by their keys, as an accepted Run knows them; the new ones get numbers."""
    given = numbers(writer, dataset)
    new = sorted(identities.keys() - given.keys())
    given |= {key: number for number, key in enumerate(new, max(given.values(), default=0) + 1)}
    entries = (
        {"dataset": dataset, "key": key, "number": given[key], "identity": dump(identity)}
        for key, identity in sorted(identities.items())
    )
    writer.many(_KEEP, entries)


def numbers(reader: Reader, dataset: DatasetId) -> dict[str, int]:
    """Key -> the number of every entity of a dataset; both stay what they are."""
    sql = "SELECT key, number FROM entities WHERE dataset_id = :dataset"
    return dict(reader.rows(sql, dataset=dataset))


def numbers_of(reader: Reader, dataset: DatasetId, keys: Collection[str]) -> dict[str, int]:
    """The same of those `keys` that are entities."""
    # A step is about one page: a dataset may have a hundred times as many entities.
    if len(keys) > AT_ONCE:
        return numbers(reader, dataset)
    if not keys:
        return {}
    names, values = listed("k", keys)
    return dict(
        reader.rows(
            f"SELECT key, number FROM entities WHERE dataset_id = :dataset AND key IN ({names})",  # noqa: S608
            dataset=dataset,
            **values,
        )
    )


def known(reader: Reader, dataset: DatasetId) -> list[KnownEntity]:
    """Every entity of a dataset, by key."""
    rows = reader.rows(
        "SELECT key, identity FROM entities WHERE dataset_id = :dataset ORDER BY key",
        dataset=dataset,
    )
    return [_known(key, IDENTITY.load(text)) for key, text in rows]


def keys_named(reader: Reader, dataset: DatasetId, name: str) -> set[str]:
    """The keys of the entities that were quoted by this name; case does not count."""
    wanted = name.casefold()
    return {
        entity.key
        for entity in known(reader, dataset)
        if wanted in map(str.casefold, entity.aliases)
    }


def _known(key: str, identity: RowIdentity) -> KnownEntity:
    return KnownEntity(
        key=key,
        kind=identity.kind,
        anchor=identity.anchor,
        scope=identity.scope,
        names=identity.names,
        urls=identity.urls,
        aliases=identity.aliases,
    )


class _ShownIdentity(Struct, frozen=True):
    kind: EntityKind
    anchor: str
    aliases: list[str]


# A part of what is kept of an entity: a listing does not pay for the rest.
_SHOWN = JsonColumn[_ShownIdentity](_ShownIdentity)


def identities(
    reader: Reader, dataset: DatasetId, keys: Collection[str]
) -> dict[str, ResearchRowIdentity]:
    """Key -> interface 2.4, of those keys that are entities."""
    # Asked only for keys that look like it: a dataset of selectors has none, and asks nothing.
    wanted = [key for key in keys if key.startswith("entity:")]
    known: dict[str, ResearchRowIdentity] = {}
    for start in range(0, len(wanted), AT_ONCE):
        names, values = listed("k", wanted[start : start + AT_ONCE])
        for key, text in reader.rows(
            f"SELECT key, identity FROM entities WHERE dataset_id = :dataset AND key IN ({names})",  # noqa: S608
            dataset=dataset,
            **values,
        ):
            known[key] = _sent(key, _SHOWN.load(text))
    return known


def _sent(key: str, identity: _ShownIdentity) -> ResearchRowIdentity:
    return {
        "version": 1,
        "key": key,
        "kind": identity.kind,
        "anchor": identity.anchor,
        "aliases": identity.aliases,
    }
