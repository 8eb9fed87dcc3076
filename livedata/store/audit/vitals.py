"""How a store is doing: what it gains, who works on it, and which schedules do not."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros, RunId
from livedata.store.database.backend import Reader


class Work(Struct, frozen=True):
    """What one process has: so many Runs, the first since a moment, leased until another."""

    holder: str
    runs: int
    since: Micros
    until: Micros


class Growth(Struct, frozen=True):
    """How many Runs of a dataset were accepted since a moment, and how many changes they wrote."""

    runs: int
    changes: int


class Skipping(Struct, frozen=True):
    """A dataset whose fires are skipped since its last Run: how many, and why the last one was."""

    owner: str
    name: str
    count: int
    last: Micros
    reason: str


class Ended(Struct, frozen=True):
    """A Run that has ended."""

    id: RunId
    status: str
    queued_at: Micros
    started_at: Micros | None
    completed_at: Micros
    attempt: int


def ended(reader: Reader, since: Micros) -> list[Ended]:
    """The Runs of this store that were queued at a moment or later and have ended."""
    rows = reader.rows(
        "SELECT id, status, queued_at, started_at, completed_at, attempt FROM runs "
        "WHERE status IN ('succeeded', 'failed', 'blocked', 'held') AND queued_at >= :since "
        "AND imported_at IS NULL",
        since=since,
    )
    return [Ended(*row) for row in rows]


def oldest_open(reader: Reader) -> Micros | None:
    """When the first was queued of the Runs that have not ended."""
    moment: Micros | None = reader.value(
        "SELECT min(queued_at) FROM runs WHERE status IN ('queued', 'running')"
    )
    return moment


def work(reader: Reader) -> list[Work]:
    """Every process that has Runs."""
    rows = reader.rows(
        "SELECT lease_owner, count(*), min(started_at), max(lease_until) FROM runs "
        "WHERE status = 'running' AND lease_owner IS NOT NULL AND lease_until IS NOT NULL "
        "GROUP BY lease_owner ORDER BY lease_owner"
    )
    return [Work(*row) for row in rows]


def datasets(reader: Reader) -> list[tuple[DatasetId, str, str]]:
    """(id, owner, name) of every dataset."""
    return [
        (key, owner, name)
        for key, owner, name in reader.rows(
            "SELECT id, owner, name FROM datasets ORDER BY owner, name"
        )
    ]


def growth(reader: Reader, since: Micros) -> dict[DatasetId, Growth]:
    """Dataset -> what it gained since a moment, by Runs; those without a Run are left out."""
    # Of the Runs and not of the revisions: those have no index of their times, and are far more.
    rows = reader.rows(
        "SELECT dataset_id, count(*), "
        "CAST(sum(new_rows + changed_rows + gone_rows) AS BIGINT) FROM runs "
        "WHERE status = 'succeeded' AND queued_at >= :since GROUP BY dataset_id",
        since=since,
    )
    return {dataset: Growth(runs, changes) for dataset, runs, changes in rows}


def skipping(reader: Reader, least: int) -> list[Skipping]:
    """The active datasets with at least so many skipped fires since their last Run was queued."""
    rows = reader.rows(
        "SELECT d.owner, d.name, count(*), max(s.fired_at), (SELECT l.reason FROM skipped_fires l "
        "WHERE l.dataset_id = d.id ORDER BY l.fired_at DESC LIMIT 1) "
        "FROM datasets d JOIN skipped_fires s ON s.dataset_id = d.id "
        "WHERE d.status = 'active' AND s.fired_at > coalesce("
        "(SELECT max(queued_at) FROM runs r WHERE r.dataset_id = d.id), 0) "
        "GROUP BY d.id, d.owner, d.name HAVING count(*) >= :least ORDER BY d.owner, d.name",
        least=least,
    )
    return [Skipping(*row) for row in rows]
