"""Texts that were recorded: each once per dataset, by its hash."""

from __future__ import annotations

import hashlib
import zlib

from livedata.model.ids import DatasetId, Micros
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import unpack_text

# A body that is used again is young again, and locked: whoever lets go of old ones at the same time
# looks at its moment once more, and leaves it.
_KEEP = """
INSERT INTO bodies (dataset_id, hash, used_at, body) VALUES (:dataset, :hash, :now, :body)
ON CONFLICT (dataset_id, hash) DO UPDATE SET used_at = excluded.used_at
"""


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
