"""What attempts knew when they began, each once per dataset as long as it is the same."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import json
from msgspec.structs import replace

from livedata.model.ids import DatasetId, Micros
from livedata.model.research.memory import Memory
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import JsonColumn
from livedata.store.research import bodies, entities

_MEMORY = JsonColumn[Memory](Memory)


def keep(writer: Writer, dataset: DatasetId, known: Memory, now: Micros) -> bytes:
    """Keep what is known; its hash."""
    numbers = entities.numbers(writer, dataset)
    # A key stands here twice, and cannot be compressed.
    short = {key: f"#{number}" for key, number in numbers.items()}
    stored = _renamed(known, lambda key: short.get(key, key))
    return bodies.keep(writer, dataset, json.encode(stored).decode(), now)


def load(reader: Reader, dataset: DatasetId, key: bytes | None) -> Memory | None:
    """What was known, by its hash; None if it is kept no more."""
    text = None if key is None else bodies.load(reader, dataset, key)
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
