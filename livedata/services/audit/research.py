"""Checks what research has kept: bodies by their hashes, what refers to them, and who rows are."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from livedata.model.ids import DatasetId, format_uuid
from livedata.store.audit import research
from livedata.store.database.backend import Reader
from livedata.store.database.codec import unpack_text
from livedata.store.research.bodies import digest


def research_problems(reader: Reader) -> Iterator[tuple[DatasetId, str]]:
    """The dataset, and the sentence of a problem without it."""
    for dataset, key, body in research.bodies(reader):
        if not _is_body_of(key, body):
            yield dataset, f"the body {key.hex()[:12]} is not what its hash says"
    for dataset, artifact in research.artifacts_without_body(reader):
        yield dataset, f"the artifact {format_uuid(artifact)} has lost its body"
    for dataset, attempt in research.attempts_without_memory(reader):
        yield dataset, f"the attempt {format_uuid(attempt)} has lost what it knew"
    for dataset, row_key in research.rows_without_entity(reader):
        yield dataset, f"row {row_key} stands for nobody"
    for dataset, entity in research.entities_without_row(reader):
        yield dataset, f"the entity {entity} has no row"


def _is_body_of(key: bytes, body: bytes) -> bool:
    try:
        return digest(unpack_text(body)) == key
    except (zlib.error, ValueError):
        return False
