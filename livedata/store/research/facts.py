"""The facts of a step as the store keeps them: compressed, with entities by their numbers."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, json

from livedata.model.research.record import ResearchFact
from livedata.model.run import Stage


class StoredFact(Struct, frozen=True, array_like=True):
    """A fact as a list; `key` is the number of its entity, if it has one."""

    # A number, because 32 bytes of chance cannot be made smaller: they were half of all facts.
    stage: Stage
    code: str
    evidence: str
    failure: bool
    detail: str
    url: str | None
    entity: str | None
    key: int | str | None
    field: str | None
    candidate: str | None


_DECODER = json.Decoder(list[StoredFact])


def pack(facts: Sequence[ResearchFact], numbers: Mapping[str, int]) -> bytes:
    """Facts as bytes; `numbers` are those of the entities by key, as far as they have one."""
    stored = [
        StoredFact(
            *(fact.stage, fact.code, fact.evidence, fact.failure, fact.detail, fact.url),
            *(fact.entity, numbers.get(fact.key or "", fact.key), fact.field, fact.candidate),
        )
        for fact in facts
    ]
    return zlib.compress(json.encode(stored), 9)


def unpack(packed: bytes) -> list[StoredFact]:
    """What :func:`pack` wrote. Raises zlib.error and ValueError."""
    return _DECODER.decode(zlib.decompress(packed))


def with_keys(stored: Sequence[StoredFact], keys: Mapping[int, str]) -> Iterator[ResearchFact]:
    """The facts with the keys of their entities. Raises KeyError for a number that none has."""
    for fact in stored:
        key = keys[fact.key] if isinstance(fact.key, int) else fact.key
        yield ResearchFact(
            *(fact.stage, fact.code, fact.evidence, fact.failure, fact.detail, fact.url),
            *(fact.entity, key, fact.field, fact.candidate),
        )
