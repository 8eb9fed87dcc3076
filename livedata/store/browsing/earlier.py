"""The last Runs of a dataset, and those before one of them, however many there are."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.dataset import RunStatus
from livedata.model.ids import DatasetId, Micros, format_timestamp, format_uuid, raw_id
from livedata.store.database.backend import Reader

_LATEST = Micros(2**63 - 1), "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""No Run is queued after this moment, or has a later id."""
_EARLIER = """
SELECT r.id, r.status, coalesce(r.completed_at, r.queued_at), r.new_rows - r.gone_rows + (
    SELECT count(*) FROM revisions v WHERE v.run_id = r.id AND v.kind = 'returned'),
    r.new_rows + r.changed_rows + r.gone_rows
FROM runs r WHERE r.dataset_id = :dataset AND (r.queued_at, r.id) < (:moment, :last)
ORDER BY r.queued_at DESC, r.id DESC LIMIT :limit
"""
# The rows that there are now, without what the Runs since then have added.
_ROWS_THEN = """
SELECT CAST(d.row_count - coalesce(sum(r.new_rows - r.gone_rows + (
    SELECT count(*) FROM revisions v WHERE v.run_id = r.id AND v.kind = 'returned')), 0) AS BIGINT)
FROM datasets d LEFT JOIN runs r
ON r.dataset_id = d.id AND (r.queued_at, r.id) >= (:moment, :last)
WHERE d.id = :dataset GROUP BY d.row_count
"""


class RunEnd(Struct, frozen=True):
    """How a Run ended, and when; while it is open, when it was queued.

    `changes` is how many rows it made, changed or found gone, and `rows` how many there were after
    it; None if it was not accepted.
    """

    run: str
    status: RunStatus
    at: str
    changes: int
    rows: int | None


def earlier_runs(
    reader: Reader, dataset: DatasetId, limit: int, before: tuple[Micros, str] | None = None
) -> list[RunEnd]:
    """The Runs before (queuedAt, id) of one, newest first; without it, the newest."""
    moment, last = before or _LATEST
    place = {"dataset": dataset, "moment": moment, "last": raw_id(last)}
    rows = reader.value(_ROWS_THEN, **place)
    ends = []
    for run, status, at, added, changes in reader.rows(_EARLIER, **place, limit=limit):
        left = rows if status == "succeeded" else None
        ends.append(RunEnd(format_uuid(run), status, format_timestamp(at), changes, left))
        rows -= added
    return ends
