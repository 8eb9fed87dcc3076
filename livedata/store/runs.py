"""Runs and the attempts at them, asked for with their owner; what an attempt writes is fenced."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

from msgspec import Struct

from livedata.model.dataset import DatasetStatus, RunStatus
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.errors import LostLease, NotFound
from livedata.model.ids import (
    DatasetId,
    Micros,
    OwnerName,
    RunId,
    format_optional_timestamp,
    format_timestamp,
    format_uuid,
    raw_id,
)
from livedata.model.run import Run
from livedata.store.database import statements
from livedata.store.database.backend import SYMPTOMS, OtherVersion, Reader, Row, Writer
from livedata.store.database.codec import CHECKS, FACTS, STOP, unpacked
from livedata.store.database.statements import assign
from livedata.store.database.table import VERSION

RUN = """
r.id, r.dataset_id, r.status, r.checks, r.new_rows, r.changed_rows, r.gone_rows, r.error,
r.queued_at, r.started_at, r.completed_at
"""
OF_OWNER = " FROM runs r JOIN datasets d ON d.id = r.dataset_id WHERE d.owner = :owner AND "
_SELECT = f"SELECT {RUN} {OF_OWNER}"
_STORE_VERSION = "SELECT version_num FROM alembic_version"
LOCKED = f"""
r.id, r.dataset_id, r.status, r.recipe_version, r.site, r.attempt, r.fence, r.only_hosts, r.turn,
r.cancel_asked_at, ({_STORE_VERSION})
"""
"""The columns of a Run `r` of which :func:`locked` makes a LockedRun."""
# EXISTS and not a join: FOR NO KEY UPDATE would lock the dataset of a join too.
_LOCK = f"""
SELECT {LOCKED} FROM runs r WHERE r.id = :run
AND EXISTS (
    SELECT 1 FROM datasets d WHERE d.id = r.dataset_id AND d.owner = coalesce(:owner, d.owner))
"""  # noqa: S608  (our own words)
# `attempt`, `fence` and `alone` are missing: only the queue moves them.
_CHANGEABLE = frozenset(
    {
        *("status", "lease_owner", "lease_until", "lease_origin", "turn", "checks", "new_rows"),
        *("changed_rows", "gone_rows", "error", "stop", "problem", "facts", "completed_at"),
    }
)
_COMPLETED = """
completed_at = CASE WHEN :completed_at < coalesce(started_at, queued_at)
    THEN coalesce(started_at, queued_at) ELSE :completed_at END
"""


class LockedRun(Struct, frozen=True):
    """A Run that nobody else writes until the transaction ends.

    `turn` is the site that it may ask while it is running.
    """

    id: RunId
    dataset: DatasetId
    status: str
    recipe_version: int
    site: str
    attempt: int
    fence: int
    hosts: str | None
    turn: str | None
    cancel_asked: Micros | None

    @property
    def cancelling(self) -> bool:
        """Whether it is to end as cancelled."""
        return self.cancel_asked is not None

    @property
    def only_hosts(self) -> frozenset[str] | None:
        """All hosts that it may read; None if it names none."""
        return None if self.hosts is None else frozenset(self.hosts.split(","))


def lock_run(writer: Writer, run: RunId, owner: OwnerName | None = None) -> LockedRun:
    """Keep every other writer of this Run out. Raises NotFound if it is gone, or another's.

    Raises OtherVersion if the store was migrated meanwhile.
    """
    # The first of the locks of an act: Run, dataset, owner. Until its end nobody migrates.
    row = writer.locked(_LOCK, run=run, owner=owner)
    if row is None:
        raise not_found()
    return locked(row)


def locked(row: Row) -> LockedRun:
    """A Run that was just locked. Raises OtherVersion as `lock_run` does."""
    *columns, version = row
    if version != VERSION:
        raise OtherVersion
    return LockedRun(*columns)


def lock_runs(writer: Writer, dataset: DatasetId) -> None:
    """Keep every other writer of a dataset's Runs out."""
    # In one order, for two who lock several.
    writer.locked("SELECT id FROM runs WHERE dataset_id = :dataset ORDER BY id", dataset=dataset)


def owner(reader: Reader, run: RunId) -> OwnerName:
    """Whose Run it is. Raises NotFound."""
    row = reader.row(
        "SELECT d.owner FROM runs r JOIN datasets d ON d.id = r.dataset_id WHERE r.id = :run",
        run=run,
    )
    if row is None:
        raise not_found()
    return OwnerName(row[0])


def get(reader: Reader, owner: OwnerName, run: RunId) -> Run:
    """Interface 2.8. Raises NotFound."""
    row = reader.row(_SELECT + "r.id = :id", owner=owner, id=run)
    if row is None:
        raise not_found()
    return as_run(row)


def newest(reader: Reader, owner: OwnerName, dataset: DatasetId, limit: int) -> list[Run]:
    """The recent Runs of a dataset, newest first."""
    rows = reader.rows(
        _SELECT + "r.dataset_id = :dataset ORDER BY r.queued_at DESC, r.id DESC LIMIT :limit",
        owner=owner,
        dataset=dataset,
        limit=limit,
    )
    return [as_run(row) for row in rows]


def by_ends(reader: Reader, owner: OwnerName, given: str) -> list[RunId]:
    """Those that somebody means who writes the whole of an id, or either end of one."""
    sql = "SELECT r.id FROM runs r JOIN datasets d ON d.id = r.dataset_id WHERE d.owner = :owner"
    return [row[0] for row in statements.by_ends(reader, sql, "r.id", given, owner=owner)]


def of_dataset_by_ends(reader: Reader, dataset: DatasetId, given: str) -> list[RunId]:
    """The same of a dataset."""
    sql = "SELECT id FROM runs WHERE dataset_id = :dataset"
    return [row[0] for row in statements.by_ends(reader, sql, "id", given, dataset=dataset)]


def facts(reader: Reader, run: RunId) -> tuple[dict[str, Any], RunFacts]:
    """The (stop, facts) that a Run stored at its end; both empty while it is open."""
    row = reader.row("SELECT stop, facts FROM runs WHERE id = :id", id=run)
    assert row is not None
    return STOP.load(row[0]) if row[0] else {}, FACTS.load(unpacked(row[1])) if row[1] else {}


def times(reader: Reader, run: RunId) -> tuple[Micros, Micros | None, Micros | None]:
    """When a Run was queued, last started, and completed."""
    row = reader.row("SELECT queued_at, started_at, completed_at FROM runs WHERE id = :id", id=run)
    assert row is not None
    return row[0], row[1], row[2]


def accepted_before(reader: Reader, dataset: DatasetId, run: RunId) -> RunId | None:
    """The newest accepted Run of a dataset that was queued before `run`."""
    # By the time of queueing and not of completion: a person may accept an old Run at any time.
    accepted: RunId | None = reader.value(
        "SELECT id FROM runs WHERE dataset_id = :dataset AND status = 'succeeded' AND id <> :run "
        "AND queued_at <= (SELECT queued_at FROM runs WHERE id = :run) "
        "ORDER BY queued_at DESC, id DESC LIMIT 1",
        dataset=dataset,
        run=run,
    )
    return accepted


def condition(
    reader: Reader, dataset: DatasetId
) -> tuple[DatasetStatus, RunStatus | None, Micros | None]:
    """The status of a dataset, how its last Run ended, and when one was accepted last."""
    # Each by one step or a few in the index of its Runs, however many there are.
    row = reader.row(
        "SELECT d.status, (SELECT status FROM runs WHERE dataset_id = d.id "
        "AND completed_at IS NOT NULL ORDER BY queued_at DESC, id DESC LIMIT 1), "
        "(SELECT completed_at FROM runs WHERE dataset_id = d.id AND status = 'succeeded' "
        "ORDER BY queued_at DESC, id DESC LIMIT 1) FROM datasets d WHERE d.id = :dataset",
        dataset=dataset,
    )
    assert row is not None
    return row[0], row[1], row[2]


def wrong_since(reader: Reader, dataset: DatasetId) -> Micros | None:
    """When the first Run after the last accepted one was not accepted; None if all were."""
    # By the dataset alone: asked for by their status, SQLite reads the Runs of all datasets.
    since: Micros | None = reader.value(
        "SELECT min(CASE WHEN status IN ('held', 'failed', 'blocked') THEN completed_at END) "
        "FROM runs WHERE dataset_id = :dataset AND completed_at > coalesce("
        "(SELECT max(CASE WHEN status = 'succeeded' THEN completed_at END) FROM runs "
        "WHERE dataset_id = :dataset), 0)",
        dataset=dataset,
    )
    return since


def recipe_version(reader: Reader, run: RunId) -> int:
    """The version of the recipe that a Run executes."""
    version: int = reader.value("SELECT recipe_version FROM runs WHERE id = :id", id=run)
    return version


def change(writer: Writer, run: RunId, **values: object) -> None:
    """Set columns of a Run; the caller has locked it, or no attempt holds it."""
    writer.execute(changing(values), run=run, **values)


def changing(columns: Collection[str]) -> str:
    """The statement that sets these columns of ``:run``."""
    return f"UPDATE runs SET {_assign(columns)} WHERE id = :run"  # noqa: S608


def fenced(writer: Writer, run: RunId, fence: int, **values: object) -> None:
    """Set columns of a running Run. Raises LostLease if another attempt has moved the fence.

    Raises OtherVersion if the store was migrated meanwhile.
    """
    if not ask_fenced(writer, run, fence, **values)():
        if writer.value(_STORE_VERSION) != VERSION:
            raise OtherVersion
        raise LostLease


def ask_fenced(writer: Writer, run: RunId, fence: int, **values: object) -> Callable[[], bool]:
    """The same together with the next question: whether it was written."""
    # A process that was frozen may wake up after its lease, when another attempt runs. The fence
    # grows with every start and never shrinks, so no later start can have this number; the status
    # is asked too, because a Run that has ended keeps its last fence.
    answer = writer.ask(
        f"UPDATE runs SET {_assign(values)} "  # noqa: S608
        "WHERE id = :run AND fence = :fence AND status = 'running' "
        f"AND ({_STORE_VERSION}) = :version RETURNING id",
        run=run,
        fence=fence,
        version=VERSION,
        **values,
    )
    return lambda: bool(answer())


def end_queued(writer: Writer, run: RunId, **values: object) -> bool:
    """End a Run before its first attempt; a Run that somebody has just started stays."""
    # If a worker was faster, the Run ends as an attempt does.
    ended = writer.written(
        f"UPDATE runs SET {_assign(values)} "  # noqa: S608
        "WHERE id = :run AND status = 'queued'",
        run=run,
        **values,
    )
    return ended == 1


def compared_with(reader: Reader, now: Micros) -> tuple[set[RunId], set[DatasetId]]:
    """The accepted Runs that were the last when a Run ended of which a page or output is kept.

    With them the datasets of which this cannot be read.
    """
    stored = reader.each(
        "SELECT dataset_id, facts FROM runs WHERE facts IS NOT NULL AND id IN "
        "(SELECT run_id FROM held_outputs WHERE kept_until >= :now "
        "UNION SELECT run_id FROM failed_pages WHERE kept_until >= :now)",
        now=now,
    )
    compared: set[RunId] = set()
    unread: set[DatasetId] = set()
    for dataset, text in stored:
        try:
            facts = FACTS.load(unpacked(text))
            if "against" in facts:
                compared.add(RunId(raw_id(facts["against"])))
        except SYMPTOMS:
            unread.add(dataset)  # `livedata check` names the Run
    return compared, unread


def further(reader: Reader, after: DatasetId, count: int) -> DatasetId | None:
    """The dataset, of all owners, that stands so many behind one by its id; None if none does."""
    dataset: DatasetId | None = reader.value(
        "SELECT id FROM datasets WHERE id > :after ORDER BY id LIMIT 1 OFFSET :passed",
        after=after,
        passed=count - 1,
    )
    return dataset


def with_old_facts(
    reader: Reader, before: Micros, after: DatasetId, end: DatasetId | None
) -> list[DatasetId]:
    """The datasets behind one, up to another, with facts of several Runs from before a moment."""
    # One question for many datasets: nearly none of them has any. From datasets to their Runs, or
    # SQLite walks all Runs that were accepted: CROSS JOIN keeps it to this order.
    until = "" if end is None else "AND d.id <= :end "
    rows = reader.rows(
        "SELECT d.id FROM datasets d CROSS JOIN runs r "  # noqa: S608  (our words)
        f"WHERE d.id > :after {until}AND r.dataset_id = d.id AND r.completed_at < :before "
        "AND r.status = 'succeeded' AND r.facts IS NOT NULL "
        "GROUP BY d.id HAVING count(*) > 1 ORDER BY d.id",
        before=before,
        after=after,
        **({} if end is None else {"end": end}),
    )
    return [dataset for (dataset,) in rows]


def accepted_with_facts(reader: Reader, dataset: DatasetId, before: Micros) -> list[RunId]:
    """The accepted Runs of a dataset from before a moment that have facts, newest first."""
    rows = reader.rows(
        "SELECT id FROM runs WHERE dataset_id = :dataset AND completed_at < :before "
        "AND status = 'succeeded' AND facts IS NOT NULL ORDER BY completed_at DESC, id DESC",
        dataset=dataset,
        before=before,
    )
    return [run for (run,) in rows]


def forget_facts(writer: Writer, forgotten: Iterable[RunId]) -> None:
    """Let go of what Runs have found out about their pages, but for what they wrote."""
    # In the order of `lock_runs`, so that neither waits for the other forever.
    runs = ({"run": run} for run in sorted(forgotten))
    writer.many("UPDATE runs SET facts = NULL WHERE id = :run", runs)


def ask_to_cancel(writer: Writer, run: RunId, now: Micros) -> None:
    """Let a running Run end as cancelled, whoever executes it; the caller has locked it.

    It never waits in the queue again, whether its process ends it or is lost.
    """
    writer.execute("UPDATE runs SET cancel_asked_at = :now WHERE id = :run", run=run, now=now)


def all_to_cancel(reader: Reader) -> set[RunId]:
    """The running Runs that are to end as cancelled, anywhere."""
    # By the index of the status: few are running, however many there were.
    rows = reader.rows(
        "SELECT id FROM runs WHERE status = 'running' AND cancel_asked_at IS NOT NULL"
    )
    return {run for (run,) in rows}


def _assign(values: Collection[str]) -> str:
    """What stands after SET; no Run is completed before it began, whatever the clock does."""
    assigned = assign(values, _CHANGEABLE)
    return assigned.replace("completed_at = :completed_at", _COMPLETED)


def not_found() -> NotFound:
    """The error for a Run that is not there, or not this owner's."""
    return NotFound("There is no such Run.")


def as_run(row: Row) -> Run:
    """A Run from the columns of `RUN`."""
    return {
        "id": format_uuid(row[0]),
        "datasetId": format_uuid(row[1]),
        "status": row[2],
        "checks": CHECKS.load(row[3]),
        "rowDeltas": {"new": row[4], "changed": row[5], "gone": row[6]},
        "error": row[7],
        "queuedAt": format_timestamp(row[8]),
        "startedAt": format_optional_timestamp(row[9]),
        "completedAt": format_optional_timestamp(row[10]),
    }
