"""The entities that rows stand for, and all by which they are found again."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from livedata.model.ids import DatasetId
from livedata.model.research.memory import KnownEntity
from livedata.model.research.outcome import RowIdentity
from livedata.model.row import ResearchRowIdentity
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import dump
from livedata.store.database.statements import listed
from livedata.store.research.columns import IDENTITY

# What was known of an entity is part of what is known of it now: the harness adds, and drops none.
_KEEP = """
INSERT INTO entities (dataset_id, key, identity) VALUES (:dataset, :key, :identity)
ON CONFLICT (dataset_id, key) DO UPDATE SET identity = excluded.identity
"""
AT_ONCE = 500
"""How many keys one question names."""


def keep(writer: Writer, dataset: DatasetId, identities: Mapping[str, RowIdentity]) -> None:
    """Keep entities by their keys, as an accepted Run knows them."""
    entries = (
        {"dataset": dataset, "key": key, "identity": dump(identity)}
        for key, identity in sorted(identities.items())
    )
    writer.many(_KEEP, entries)


def known(reader: Reader, dataset: DatasetId) -> list[KnownEntity]:
    """Every entity of a dataset, by key."""
    rows = reader.rows(
        "SELECT key, identity FROM entities WHERE dataset_id = :dataset ORDER BY key",
        dataset=dataset,
    )
    return [_known(key, IDENTITY.load(text)) for key, text in rows]


def identities(
    reader: Reader, dataset: DatasetId, keys: Collection[str]
) -> dict[str, ResearchRowIdentity]:
    """Key -> interface 2.4, of those keys that are entities."""
    # Asked only for keys that look like it: a dataset of selectors has none, and asks nothing.
    wanted = [key for key in keys if key.startswith("entity:")]
    found: dict[str, ResearchRowIdentity] = {}
    for start in range(0, len(wanted), AT_ONCE):
        names, values = listed("k", wanted[start : start + AT_ONCE])
        for key, text in reader.rows(
            f"SELECT key, identity FROM entities WHERE dataset_id = :dataset AND key IN ({names})",  # noqa: S608
            dataset=dataset,
            **values,
        ):
            found[key] = _sent(key, IDENTITY.load(text))
    return found


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


def _sent(key: str, identity: RowIdentity) -> ResearchRowIdentity:
    return {
        "version": 1,
        "key": key,
        "kind": identity.kind,
        "anchor": identity.anchor,
        "aliases": list(identity.aliases),
    }
