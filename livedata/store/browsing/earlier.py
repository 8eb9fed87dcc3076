"""The Runs of a dataset before one of them, however many there are."""

from __future__ import annotations

from livedata.model.ids import DatasetId, Micros, RunId, raw_id
from livedata.store.database.backend import Reader

_LATEST = Micros(2**63 - 1), "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""No Run is queued after this moment, or has a later id."""


def earlier_runs(
    reader: Reader, dataset: DatasetId, limit: int, before: tuple[Micros, str] | None
) -> list[RunId]:
    """The Runs before (queuedAt, id) of one, newest first; without it, the newest."""
    moment, last = before or _LATEST
    rows = reader.rows(
        "SELECT id FROM runs WHERE dataset_id = :dataset AND (queued_at, id) < (:moment, :last) "
        "ORDER BY queued_at DESC, id DESC LIMIT :limit",
        dataset=dataset,
        moment=moment,
        last=raw_id(last),
        limit=limit,
    )
    return [RunId(row[0]) for row in rows]
