"""How a store is doing: what it gains, who works on it, and which schedules do not."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from livedata.model.account import OPERATOR
from livedata.model.ids import DatasetId, Micros, OwnerName, RunId
from livedata.store.database.backend import Reader
from livedata.store.database.statements import listed
from livedata.store.shown_runs import REFUSED

# Of a store of any size: what is behind these bounds is not counted.
_DATASETS = """
SELECT o.name, (SELECT count(*) FROM (
    SELECT 1 AS one FROM datasets d WHERE d.owner = o.name LIMIT :most) AS counted) AS had
FROM (
    SELECT name FROM (SELECT name FROM owners ORDER BY name LIMIT 1000) AS first
    UNION SELECT name FROM owners WHERE name IN ({named})
) AS o WHERE o.name <> :operator
"""
_RUNS = """
SELECT o.owner, count(*) AS had FROM (
    SELECT owner FROM runs WHERE status IN ('queued', 'running') LIMIT 10000) AS o
WHERE o.owner <> :operator GROUP BY o.owner
"""


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
    # Of each status by itself: that is the first entry of an index.
    moments = [
        reader.value("SELECT min(queued_at) FROM runs WHERE status = :status", status=status)
        for status in ("queued", "running")
    ]
    return min((moment for moment in moments if moment is not None), default=None)


def work(reader: Reader) -> list[LeasedRuns]:
    """Every process that has Runs."""
    rows = reader.rows(
        "SELECT lease_owner, count(*), min(started_at), max(lease_until) FROM runs "
        "WHERE status = 'running' AND lease_owner IS NOT NULL AND lease_until IS NOT NULL "
        "GROUP BY lease_owner ORDER BY lease_owner"
    )
    return [LeasedRuns(*row) for row in rows]


def datasets(reader: Reader, limit: int) -> list[tuple[DatasetId, str, str]]:
    """(id, owner, name) of the first datasets by owner and name."""
    rows = reader.rows(
        "SELECT id, owner, name FROM datasets ORDER BY owner, name LIMIT :limit", limit=limit
    )
    return [(key, owner, name) for key, owner, name in rows]


def count_datasets(reader: Reader) -> int:
    """How many datasets there are, of all owners."""
    count: int = reader.value("SELECT count(*) FROM datasets")
    return count


def looked_back(reader: Reader, since: Micros, limit: int) -> Micros:
    """Where the last `limit` accepted Runs begin, if that is later than a moment."""
    first: Micros | None = reader.value(
        "SELECT queued_at FROM runs WHERE status = 'succeeded' AND queued_at >= :since "
        "ORDER BY queued_at DESC LIMIT 1 OFFSET :limit",
        since=since,
        limit=limit,
    )
    return since if first is None else Micros(first + 1)


def growth(
    reader: Reader, week: Micros, month: Micros, limit: int
) -> list[tuple[DatasetId, str, str, Growth, Growth]]:
    """(id, owner, name, since the one moment, since the other) of what gained most.

    By the changes since the second one, which is the earlier of both.
    """
    # Of the Runs and not of the revisions: those have no index of their times, and are far more.
    rows = reader.rows(
        "SELECT d.id, d.owner, d.name, g.runs_of_week, g.of_week, g.runs, g.changes FROM ("
        "SELECT dataset_id, count(*) AS runs, "
        "count(CASE WHEN queued_at >= :week THEN 1 END) AS runs_of_week, "
        "CAST(sum(new_rows + changed_rows + gone_rows) AS BIGINT) AS changes, "
        "CAST(sum(CASE WHEN queued_at >= :week THEN new_rows + changed_rows + gone_rows ELSE 0 END)"
        " AS BIGINT) AS of_week "
        "FROM runs WHERE status = 'succeeded' AND queued_at >= :month GROUP BY dataset_id "
        "ORDER BY changes DESC LIMIT :limit) g "
        "JOIN datasets d ON d.id = g.dataset_id ORDER BY d.owner, d.name",
        week=week,
        month=month,
        limit=limit,
    )
    return [
        (key, owner, name, Growth(*counts[:2]), Growth(*counts[2:]))
        for key, owner, name, *counts in rows
    ]


def unaccepted(reader: Reader) -> list[Unaccepted]:
    """The datasets, but for paused ones, whose last Run that is over was not accepted."""
    over = "status NOT IN ('queued', 'running')"
    # Told apart within the Runs of a dataset: asked for by their status, SQLite reads those of all.
    accepted = "CASE WHEN a.status = 'succeeded' THEN a.queued_at END"
    rows = reader.rows(
        "SELECT d.owner, d.name, r.id, r.status, r.completed_at, r.stop, "  # noqa: S608
        f"(SELECT count(*) FROM runs n WHERE n.dataset_id = d.id AND n.{over}), "
        f"(SELECT count({accepted}) FROM runs a WHERE a.dataset_id = d.id), "
        f"(SELECT count(*) FROM runs f WHERE f.dataset_id = d.id AND f.{over} AND f.queued_at > "
        f"coalesce((SELECT max({accepted}) FROM runs a WHERE a.dataset_id = d.id), -1)), "
        "(SELECT count(*) FROM rows w WHERE w.dataset_id = d.id AND w.presence = 'present') "
        "FROM runs r CROSS JOIN datasets d WHERE d.id = r.dataset_id "
        f"AND d.status <> 'paused' AND {REFUSED} ORDER BY d.owner, d.name"
    )
    return [Unaccepted(*row) for row in rows]


def datasets_of(reader: Reader, most: int, named: Iterable[str]) -> dict[OwnerName, int]:
    """How many datasets each of the first 1,000 owners has, and of these names; up to `most`."""
    names, values = listed("owner", ["", *named])
    rows = reader.rows(_DATASETS.format(named=names), most=most, operator=OPERATOR, **values)
    return {OwnerName(owner): had for owner, had in rows}


def open_runs_of(reader: Reader) -> dict[OwnerName, int]:
    """How many Runs of each owner have not ended, of 10,000 such."""
    return {OwnerName(owner): had for owner, had in reader.rows(_RUNS, operator=OPERATOR)}
