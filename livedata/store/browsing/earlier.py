"""The last Runs of a dataset, and those before one of them, however many there are."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.dataset import RunStatus
from livedata.model.ids import DatasetId, Micros, RunId, format_timestamp, format_uuid, raw_id
from livedata.store.database.backend import Reader

_LATEST = Micros(2**63 - 1), "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""No Run is queued after this moment, or has a later id."""


class RunEnd(Struct, frozen=True):
    """How a Run ended, and when; while it is open, when it was queued."""

    id: str
    status: RunStatus
    at: str


def last_ends(reader: Reader, dataset: DatasetId, limit: int) -> list[RunEnd]:
    """The ends of the last Runs of a dataset, the oldest of them first."""
    rows = reader.rows(
        "SELECT id, status, coalesce(completed_at, queued_at) FROM runs "
        "WHERE dataset_id = :dataset ORDER BY queued_at DESC, id DESC LIMIT :limit",
        dataset=dataset,
        limit=limit,
    )
    return [RunEnd(format_uuid(row[0]), row[1], format_timestamp(row[2])) for row in rows[::-1]]


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
