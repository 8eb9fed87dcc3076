"""What the rows of a dataset stand for, as it is sent (interface 2.4)."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct

from livedata.model.ids import DatasetId
from livedata.model.research.recipe import EntityKind
from livedata.model.row import ResearchRowIdentity
from livedata.store.database.backend import Reader
from livedata.store.database.codec import JsonColumn
from livedata.store.database.statements import listed

AT_ONCE = 500
"""How many keys one question names."""


class _Identity(Struct, frozen=True):
    kind: EntityKind
    anchor: str
    aliases: list[str]


# A part of what is kept of an entity: a listing does not pay for the rest.
_IDENTITY = JsonColumn[_Identity](_Identity)


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
            known[key] = _sent(key, _IDENTITY.load(text))
    return known


def _sent(key: str, identity: _Identity) -> ResearchRowIdentity:
    return {
        "version": 1,
        "key": key,
        "kind": identity.kind,
        "anchor": identity.anchor,
        "aliases": identity.aliases,
    }
