"""How a store is doing: what it gains, who works on it, and which schedules do not."""

from __future__ import annotations

from msgspec import Struct

from livedata.model.ids import DatasetId, Micros, RunId
from livedata.store.database.backend import Reader


class LeasedRuns(Struct, frozen=True):
    """What one process has: so many Runs, the first since a moment, leased until another."""

    holder: str
    runs: int
    since: Micros
    until: Micros


class Growth(Struct, frozen=True):
    """How many Runs of a dataset were accepted since a moment, and how many changes they wrote."""

    runs: int
    changes: int


class Unaccepted(Struct, frozen=True):
    """A dataset whose last Run was not accepted: that Run, when it ended, and how.

    `stop` is the rule that ended it, as JSON, `runs` how many have ended, `accepted` how many of
    these were accepted, `in_a_row` how many have ended since the last accepted one. `rows` are
    present.
    """

    owner: str
    name: str
    run: RunId
    status: str
    ended: Micros
    stop: str | None
    runs: int
    accepted: int
    in_a_row: int
    rows: int


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
    # What an archive brought has ended in another store: it is no work of this one.
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


def work(reader: Reader) -> list[LeasedRuns]:
    """Every process that has Runs."""
    rows = reader.rows(
        "SELECT lease_owner, count(*), min(started_at), max(lease_until) FROM runs "
        "WHERE status = 'running' AND lease_owner IS NOT NULL AND lease_until IS NOT NULL "
        "GROUP BY lease_owner ORDER BY lease_owner"
    )
    return [LeasedRuns(*row) for row in rows]


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


def unaccepted(reader: Reader) -> list[Unaccepted]:
    """The datasets, but for paused ones, whose last Run that is over was not accepted."""
    over = "status NOT IN ('queued', 'running')"
    rows = reader.rows(
        "SELECT d.owner, d.name, r.id, r.status, r.completed_at, r.stop, "  # noqa: S608
        f"(SELECT count(*) FROM runs n WHERE n.dataset_id = d.id AND n.{over}), "
        "(SELECT count(*) FROM runs a WHERE a.dataset_id = d.id AND a.status = 'succeeded'), "
        f"(SELECT count(*) FROM runs f WHERE f.dataset_id = d.id AND f.{over} AND f.queued_at > "
        "coalesce((SELECT max(a.queued_at) FROM runs a WHERE a.dataset_id = d.id "
        "AND a.status = 'succeeded'), -1)), "
        "(SELECT count(*) FROM rows w WHERE w.dataset_id = d.id AND w.presence = 'present') "
        "FROM datasets d JOIN runs r ON r.id = (SELECT l.id FROM runs l WHERE l.dataset_id = d.id "
        f"AND l.{over} ORDER BY l.queued_at DESC, l.id DESC LIMIT 1) "
        "WHERE d.status <> 'paused' AND r.status <> 'succeeded' ORDER BY d.owner, d.name"
    )
    return [Unaccepted(*row) for row in rows]
