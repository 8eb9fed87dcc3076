"""Runs, asked for with their owner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from livedata.model.run import Run
from livedata.store.database import Reader
from livedata.store.ids import ident, maybe_moment, moment

_RUN = """
SELECT r.id, r.dataset_id, r.status, r.checks, r.new_rows, r.changed_rows, r.gone_rows, r.error,
       r.queued_at, r.started_at, r.completed_at
FROM runs r JOIN datasets d ON d.id = r.dataset_id
"""


def get(reader: Reader, owner: str, run: bytes) -> Run | None:
    """Specification 2.8."""
    row = reader.row(_RUN + "WHERE d.owner = :owner AND r.id = :id", owner=owner, id=run)
    return None if row is None else _run(row)


def newest(reader: Reader, owner: str, dataset: bytes, limit: int) -> list[Run]:
    """The recent Runs of a dataset, newest first."""
    rows = reader.rows(
        _RUN + "WHERE d.owner = :owner AND r.dataset_id = :dataset "
        "ORDER BY r.queued_at DESC, r.id DESC LIMIT :limit",
        owner=owner,
        dataset=dataset,
        limit=limit,
    )
    return [_run(row) for row in rows]


def all_ids(reader: Reader, owner: str) -> list[bytes]:
    """Every Run of the owner, newest first."""
    rows = reader.rows(
        "SELECT r.id FROM runs r JOIN datasets d ON d.id = r.dataset_id "
        "WHERE d.owner = :owner ORDER BY r.queued_at DESC, r.id DESC",
        owner=owner,
    )
    return [row[0] for row in rows]


def facts(reader: Reader, run: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The (stop, facts) that a Run stored at its end; both empty while it is open."""
    row = reader.row("SELECT stop, facts FROM runs WHERE id = :id", id=run)
    assert row is not None
    return orjson.loads(row[0] or "{}"), orjson.loads(row[1] or "{}")


def charged(reader: Reader, run: bytes) -> int:
    """The credits that a Run was charged."""
    return -int(reader.value("SELECT credits FROM ledger WHERE run_id = :id", id=run) or 0)


def _run(row: Sequence[Any]) -> Run:
    return {
        "id": ident(row[0]),
        "datasetId": ident(row[1]),
        "status": row[2],
        "checks": orjson.loads(row[3]),
        "rowDeltas": {"new": row[4], "changed": row[5], "gone": row[6]},
        "error": row[7],
        "queuedAt": moment(row[8]),
        "startedAt": maybe_moment(row[9]),
        "completedAt": maybe_moment(row[10]),
    }
