"""Texts that were recorded, and what attempts knew: each once per dataset, by its hash."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable

from msgspec import json
from msgspec.structs import replace

from livedata.model.ids import DatasetId, Micros
from livedata.model.research.memory import Memory
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn, unpack_text
from livedata.store.research import entities

# A body that is used again is young again, and locked: whoever lets go of old ones at the same time
# looks at its moment once more, and leaves it.
_KEEP = """
INSERT INTO bodies (dataset_id, hash, used_at, body) VALUES (:dataset, :hash, :now, :body)
ON CONFLICT (dataset_id, hash) DO UPDATE SET used_at = excluded.used_at
"""
_MEMORY = JsonColumn[Memory](Memory)


def digest(text: str) -> bytes:
    """The SHA-256 by which a text is kept."""
    return hashlib.sha256(text.encode()).digest()


def keep(writer: Writer, dataset: DatasetId, text: str, now: Micros) -> bytes:
    """Keep a text; its hash."""
    key = digest(text)
    body = zlib.compress(text.encode(), 9)
    writer.execute(_KEEP, dataset=dataset, hash=key, now=now, body=body)
    return key


def load(reader: Reader, dataset: DatasetId, key: bytes) -> str | None:
    """The text of a hash; None if it is kept no more."""
    body = reader.value(
        "SELECT body FROM bodies WHERE dataset_id = :dataset AND hash = :hash",
        dataset=dataset,
        hash=key,
    )
    return None if body is None else unpack_text(body)


def keep_memory(writer: Writer, dataset: DatasetId, known: Memory, now: Micros) -> bytes:
    """Keep what is known; its hash."""
    numbers = entities.numbers(writer, dataset)
    # A key stands here twice, and cannot be compressed.
    short = {key: f"#{number}" for key, number in numbers.items()}
    stored = _renamed(known, lambda key: short.get(key, key))
    return keep(writer, dataset, json.encode(stored).decode(), now)


def load_memory(reader: Reader, dataset: DatasetId, key: bytes | None) -> Memory | None:
    """What was known, by its hash; None if it is kept no more."""
    text = None if key is None else load(reader, dataset, key)
    if text is None:
        return None
    numbers = entities.numbers(reader, dataset)
    full = {f"#{number}": key for key, number in numbers.items()}
    return _renamed(_MEMORY.load(text), lambda key: full.get(key, key))


def _renamed(known: Memory, name: Callable[[str], str]) -> Memory:
    """The same with other keys."""
    return replace(
        known,
        entities=[replace(entity, key=name(entity.key)) for entity in known.entities],
        rows=[replace(row, key=name(row.key)) for row in known.rows],
    )
