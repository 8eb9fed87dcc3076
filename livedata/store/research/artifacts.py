"""The artifacts of Runs: what was recorded where it came from outside (interface 2.9)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator

from livedata.model.diagnosis.recorded_research import RunArtifact
from livedata.model.ids import (
    AttemptId,
    DatasetId,
    Micros,
    RunId,
    format_timestamp,
    format_uuid,
    raw_id,
)
from livedata.model.research.record import LONGEST_BODY, Artifact, ArtifactKind, RecordedArtifact
from livedata.model.wire import as_uri
from livedata.store.database.backend import Reader, Row, Writer
from livedata.store.database.codec import unpack_text
from livedata.store.database.statements import insert

MOST_LISTED = 200
"""Interface 8: the artifacts in one index."""

_ADD = insert(
    "artifacts",
    *("id", "dataset_id", "run_id", "attempt_id", "step_id", "number", "kind", "source_url"),
    *("part", "request_digest", "hash", "size", "kept", "answered_at", "created_at"),
)
_ARTIFACT = """
SELECT a.id, a.attempt_id, a.step_id, a.kind, a.source_url, a.hash, a.size, a.kept, a.created_at
FROM artifacts a
"""
_RECALL = """
SELECT b.body, a.answered_at FROM artifacts a
JOIN bodies b ON b.dataset_id = a.dataset_id AND b.hash = a.hash
WHERE a.dataset_id = :dataset AND a.request_digest = :digest AND a.kind = :kind
AND a.answered_at >= :since ORDER BY a.answered_at DESC, a.created_at DESC LIMIT 1
"""
# A body that is used again is young again, and locked: whoever lets go of old ones at the same time
# looks at its moment once more, and leaves it.
_KEEP_BODY = """
INSERT INTO bodies (dataset_id, hash, used_at, body) VALUES (:dataset, :hash, :now, :body)
ON CONFLICT (dataset_id, hash) DO UPDATE SET used_at = excluded.used_at
"""


def add(
    writer: Writer,
    dataset: DatasetId,
    run: RunId,
    attempt: AttemptId,
    step: bytes,
    artifact: Artifact,
    now: Micros,
    answered: Micros | None,
) -> None:
    """Keep an artifact; `answered` is when it was given, if it may answer the same again."""
    size = len(artifact.body.encode())
    kept = size <= LONGEST_BODY
    key = keep_body(writer, dataset, artifact.body, now) if kept else body_digest(artifact.body)
    number = writer.value("SELECT coalesce(max(number), 0) FROM artifacts WHERE run_id = :r", r=run)
    writer.execute(
        _ADD,
        id=raw_id(artifact.id),
        dataset_id=dataset,
        run_id=run,
        attempt_id=attempt,
        step_id=step,
        number=number + 1,
        kind=artifact.kind,
        source_url=artifact.source_url,
        part=artifact.window,
        request_digest=bytes.fromhex(artifact.request_digest),
        hash=key,
        size=size,
        kept=kept,
        answered_at=answered if kept else None,
        created_at=now,
    )


def recall(
    reader: Reader, dataset: DatasetId, kind: str, request_digest: str, since: Micros
) -> tuple[str, Micros] | None:
    """The body of the newest answer to a request that was given at `since` or later, and when."""
    row = reader.row(
        _RECALL,
        dataset=dataset,
        kind=kind,
        digest=bytes.fromhex(request_digest),
        since=since,
    )
    return None if row is None else (unpack_text(row[0]), row[1])


def index(reader: Reader, run: RunId, since: Micros) -> tuple[list[RunArtifact], bool]:
    """The newest artifacts of a Run that are kept, in their order, and whether there are more."""
    rows = reader.rows(
        f"{_ARTIFACT} WHERE a.run_id = :run AND a.created_at >= :since "
        "ORDER BY a.number DESC LIMIT :limit",
        run=run,
        since=since,
        limit=MOST_LISTED + 1,
    )
    listed = [_artifact(row, None) for row in rows[:MOST_LISTED]]
    return listed[::-1], len(rows) > MOST_LISTED


def get(
    reader: Reader, dataset: DatasetId, run: RunId, artifact: bytes, since: Micros
) -> RunArtifact | None:
    """One artifact of a Run with its body, if it was recorded at `since` or later."""
    row = reader.row(
        f"{_ARTIFACT} WHERE a.id = :id AND a.run_id = :run AND a.created_at >= :since",
        id=artifact,
        run=run,
        since=since,
    )
    if row is None:
        return None
    return _artifact(row, load_body(reader, dataset, row[5]) if row[7] else None)


def recorded(
    reader: Reader,
    run: RunId,
    attempt: AttemptId | None = None,
    kind: ArtifactKind | None = None,
) -> Iterator[RecordedArtifact]:
    """The artifacts of a Run with their bodies, in the order in which they were recorded.

    With an `attempt` or a `kind`, only those; no other body is unpacked.
    """
    rows = reader.each(
        "SELECT a.id, a.kind, a.source_url, b.body, a.request_digest, a.part, a.attempt_id, "
        "a.hash, a.answered_at < a.created_at "
        "FROM artifacts a LEFT JOIN bodies b ON b.dataset_id = a.dataset_id AND b.hash = a.hash "
        "WHERE a.run_id = :run AND a.attempt_id = coalesce(:attempt, a.attempt_id) "
        "AND a.kind = coalesce(:kind, a.kind) "
        "ORDER BY a.number",
        run=run,
        attempt=attempt,
        kind=kind,
    )
    for key, of_kind, url, body, digest, part, of_attempt, hash_, older in rows:
        text = None if body is None else unpack_text(body)
        yield RecordedArtifact(
            format_uuid(key),
            of_kind,
            url,
            text,
            digest.hex(),
            part,
            format_uuid(of_attempt),
            hash_.hex(),
            # An answer that is older than its artifact was not asked for.
            bool(older),
        )


def _artifact(row: Row, body: str | None) -> RunArtifact:
    return {
        "id": format_uuid(row[0]),
        "attemptId": format_uuid(row[1]),
        "stepId": format_uuid(row[2]),
        "kind": row[3],
        "sourceUrl": as_uri(row[4]),
        "sha256": row[5].hex(),
        "bytes": row[6],
        "truncated": not row[7],
        "createdAt": format_timestamp(row[8]),
        "body": body,
    }


def body_digest(text: str) -> bytes:
    """The SHA-256 by which a text is kept."""
    return hashlib.sha256(text.encode()).digest()


def keep_body(writer: Writer, dataset: DatasetId, text: str, now: Micros) -> bytes:
    """Keep a text; its hash."""
    key = body_digest(text)
    body = zlib.compress(text.encode(), 9)
    writer.execute(_KEEP_BODY, dataset=dataset, hash=key, now=now, body=body)
    return key


def load_body(reader: Reader, dataset: DatasetId, key: bytes) -> str | None:
    """The text of a hash; None if it is kept no more."""
    body = reader.value(
        "SELECT body FROM bodies WHERE dataset_id = :dataset AND hash = :hash",
        dataset=dataset,
        hash=key,
    )
    return None if body is None else unpack_text(body)
