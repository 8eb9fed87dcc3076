"""When datasets run by themselves: their schedules, their next fires, and what was skipped."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from msgspec import Struct

from livedata.model.errors import NotFound
from livedata.model.ids import DatasetId, Micros, OwnerName
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.statements import Expiring, listed

_SCHEDULED = "SELECT id, owner, name, status, schedule, next_run_at, next_run_zone FROM datasets"
_ACTIVE = "status = 'active' AND schedule IS NOT NULL"
_UNFIRED = "status <> 'paused' AND (status = 'draft' OR schedule IS NULL)"
_OF_KIND = (
    "(SELECT 1 FROM datasets d WHERE d.status = 'active' AND d.schedule IS NOT NULL "
    "AND d.schedule = k.schedule AND d.next_run_zone {} LIMIT 1)"
)
# Some steps in the index for each of them, whatever the number of datasets: neither database skips
# by itself.
_KINDS = f"""
WITH RECURSIVE kinds(schedule) AS (
    SELECT min(schedule) FROM datasets WHERE {_ACTIVE}
    UNION ALL
    SELECT (SELECT min(d.schedule) FROM datasets d
            WHERE d.status = 'active' AND d.schedule IS NOT NULL AND d.schedule > kinds.schedule)
    FROM kinds WHERE kinds.schedule IS NOT NULL)
SELECT k.schedule, coalesce({_OF_KIND.format("IS NULL")}, {_OF_KIND.format("< :zone")},
    {_OF_KIND.format("> :zone")}, {_OF_KIND.format("= :zone AND d.next_run_at IS NULL")}, 0),
    (SELECT max(d.next_run_at) FROM datasets d WHERE d.status = 'active'
     AND d.schedule IS NOT NULL AND d.schedule = k.schedule AND d.next_run_zone = :zone)
FROM kinds k WHERE k.schedule IS NOT NULL
"""  # noqa: S608  (our own words)
# Every dataset with a skipped fire, by the same steps.
_SKIPPED = """
WITH RECURSIVE skipped(id) AS (
    SELECT (SELECT dataset_id FROM skipped_fires ORDER BY dataset_id LIMIT 1)
    UNION ALL
    SELECT (SELECT s.dataset_id FROM skipped_fires s WHERE s.dataset_id > skipped.id
            ORDER BY s.dataset_id LIMIT 1)
    FROM skipped WHERE skipped.id IS NOT NULL)
SELECT id FROM skipped WHERE id IS NOT NULL
"""
_PLAN = "UPDATE datasets SET next_run_at = :next_run_at, next_run_zone = :zone WHERE id = :dataset"
OLD_SKIPPED = Expiring(
    *("skipped_fires", "dataset_id, fired_at", "fired_at < :moment", "DELETE FROM skipped_fires")
)
"""The fires before a moment that were skipped."""
NO_CREDITS = "no_credits"
"""The reason of a fire that was skipped for want of credits."""


class Scheduled(Struct, frozen=True):
    """When a dataset is to run; only an active one with a schedule has a next Run.

    `next_run_zone` is the time zone in which `next_run_at` was reckoned, if that is known.
    """

    id: DatasetId
    owner: OwnerName
    name: str
    status: str
    schedule: str | None
    next_run_at: Micros | None
    next_run_zone: str | None


class SkippedFire(Struct, frozen=True):
    """A fire that queued no Run, and the code of the reason."""

    fired_at: Micros
    reason: str


class Skipping(Struct, frozen=True):
    """An active dataset whose fires are skipped since its last Run: how many, and why the last."""

    dataset: DatasetId
    owner: OwnerName
    name: str
    count: int
    last: Micros
    reason: str


class LateFires(Struct, frozen=True):
    """Fires that nobody has taken: how many, and of what and of when the oldest is.

    `name` is that of a dataset, or of a notice with a digest.
    """

    count: int
    name: str
    due_at: Micros


def unpaused(reader: Reader, owner: OwnerName) -> list[Scheduled]:
    """Every dataset of an owner that is not paused, by name."""
    rows = reader.rows(
        f"{_SCHEDULED} WHERE owner = :owner AND status <> 'paused' ORDER BY name", owner=owner
    )
    return [Scheduled(*row) for row in rows]


def scheduled_each(reader: Reader, those: Collection[DatasetId]) -> list[Scheduled]:
    """When each of these datasets is to run."""
    if not those:
        return []
    names, named = listed("dataset", those)
    return [Scheduled(*row) for row in reader.rows(f"{_SCHEDULED} WHERE id IN ({names})", **named)]


def read_by_schedule(reader: Reader, owner: OwnerName) -> list[tuple[DatasetId, str, bool]]:
    """(id, name, whether its schedule queues Runs) of everything the owner has, by name."""
    rows = reader.rows(
        "SELECT id, name, schedule IS NOT NULL AND status = 'active' FROM datasets "
        "WHERE owner = :owner ORDER BY name",
        owner=owner,
    )
    return [(dataset, name, bool(is_read)) for dataset, name, is_read in rows]


def to_look_at(reader: Reader, owner: OwnerName, now: Micros) -> list[Scheduled]:
    """The datasets of an owner that are due: active by their schedule, or without one."""
    # Not one question with OR: each of these is a step in an index. What is due is found by its
    # moment: with a plain comparison SQLite would read all that the owner has.
    rows = reader.rows(
        f"{_SCHEDULED} WHERE owner = :owner AND {_UNFIRED} AND schedule IS NULL UNION ALL "
        f"{_SCHEDULED} WHERE {_ACTIVE} AND next_run_at <= :now AND owner || '' = :owner",
        owner=owner,
        now=now,
    )
    return [Scheduled(*row) for row in rows]


def left_out(reader: Reader, owner: OwnerName, limit: int) -> tuple[list[str], bool]:
    """The names of `limit` drafts with a schedule at most, and whether an owner has more."""
    # Not counted: an owner may have very many.
    rows = reader.rows(
        f"SELECT name FROM datasets WHERE owner = :owner AND {_UNFIRED} "  # noqa: S608  (our own words)
        "AND schedule IS NOT NULL ORDER BY schedule LIMIT :limit",
        owner=owner,
        limit=limit + 1,
    )
    return sorted(name for (name,) in rows[:limit]), len(rows) > limit


def kinds(reader: Reader, zone: str) -> list[tuple[str, bool, Micros | None]]:
    """Every schedule that an active dataset has, once: what it is, and two things of its datasets.

    Whether of any the next fire is not known in a time zone, and the last fire that is.
    """
    rows = reader.rows(_KINDS, zone=zone)
    return [(schedule, bool(unknown), last) for schedule, unknown, last in rows]


def misplanned(reader: Reader, schedule: str, zone: str, latest: Micros | None) -> list[Scheduled]:
    """The active datasets of a schedule whose next fire is not known, or is later than `latest`.

    Or that was reckoned in another time zone. Without a `latest` all datasets of the schedule.
    """
    wrong = ("next_run_zone IS NULL", "next_run_zone < :zone", "next_run_zone > :zone") + (
        ("next_run_zone = :zone",)
        if latest is None
        else (
            "next_run_zone = :zone AND next_run_at IS NULL",
            "next_run_zone = :zone AND next_run_at > :latest",
        )
    )
    # Not one question with OR: each of these is a step in the index.
    questions = (f"{_SCHEDULED} WHERE {_ACTIVE} AND schedule = :schedule AND {it}" for it in wrong)
    rows = reader.rows(" UNION ALL ".join(questions), schedule=schedule, zone=zone, latest=latest)
    return [Scheduled(*row) for row in rows]


def due(
    reader: Reader, now: Micros, after: tuple[Micros, DatasetId] | None, limit: int
) -> list[tuple[Micros, DatasetId]]:
    """The (fire, dataset) of active datasets that are due, the longest due first.

    `after` is the last one already seen.
    """
    # What was taken since the last page is due no more, so an OFFSET would pass others over.
    seen, last = after or (-1, b"")
    rows = reader.rows(
        "SELECT next_run_at, id FROM datasets WHERE next_run_at <= :now AND status = 'active' "
        "AND (next_run_at, id) > (:seen, :last) ORDER BY next_run_at, id LIMIT :limit",
        now=now,
        seen=seen,
        last=last,
        limit=limit,
    )
    return [(row[0], row[1]) for row in rows]


def claim(
    writer: Writer, now: Micros, after: tuple[Micros, DatasetId] | None, limit: int
) -> list[Scheduled]:
    """The same datasets, kept from other writers; without those that another writer has."""
    seen, last = after or (-1, b"")
    rows = writer.all_locked_if_free(
        f"{_SCHEDULED} WHERE next_run_at <= :now AND status = 'active' "
        "AND schedule IS NOT NULL AND (next_run_at, id) > (:seen, :last) "
        "ORDER BY next_run_at, id LIMIT :limit",
        now=now,
        seen=seen,
        last=last,
        limit=limit,
    )
    return [Scheduled(*row) for row in rows]


def claim_each(writer: Writer, those: Collection[DatasetId]) -> list[Scheduled]:
    """Those of these datasets that are active and free, kept from other writers."""
    names, named = listed("dataset", those)
    rows = writer.all_locked_if_free(
        f"{_SCHEDULED} WHERE id IN ({names}) AND {_ACTIVE} ORDER BY id", **named
    )
    return [Scheduled(*row) for row in rows]


def late(reader: Reader, before: Micros) -> LateFires | None:
    """The active datasets that were due before a moment, of all owners; None if none was."""
    due_before = "FROM datasets WHERE next_run_at < :before AND status = 'active'"
    oldest = reader.row(
        f"SELECT name, next_run_at {due_before} ORDER BY next_run_at, id LIMIT 1",
        before=before,
    )
    if oldest is None:
        return None
    count = reader.value(f"SELECT count(*) {due_before}", before=before)
    return LateFires(count, *oldest)


def scheduled(reader: Reader, dataset: DatasetId) -> Scheduled:
    """When one dataset is to run. Raises NotFound."""
    row = reader.row(f"{_SCHEDULED} WHERE id = :dataset", dataset=dataset)
    if row is None:
        raise NotFound("There is no such dataset.")
    return Scheduled(*row)


def plan(writer: Writer, dataset: DatasetId, next_run_at: Micros | None, zone: str) -> None:
    """Note when a dataset fires next, as reckoned in a time zone; None for never."""
    writer.execute(_PLAN, dataset=dataset, next_run_at=next_run_at, zone=zone)


def plan_each(writer: Writer, moments: Mapping[DatasetId, Micros], zone: str) -> None:
    """The same of several datasets, which are locked."""
    writer.many(
        _PLAN,
        [
            {"dataset": dataset, "next_run_at": moment, "zone": zone}
            for dataset, moment in moments.items()
        ],
    )


def skip(writer: Writer, dataset: DatasetId, fired_at: Micros, reason: str) -> None:
    """Note that a fire queued no Run, and why."""
    # A clock that was set back far enough repeats a fire: the first reason stays.
    writer.execute(
        "INSERT INTO skipped_fires (dataset_id, fired_at, reason) "
        "VALUES (:dataset, :fired_at, :reason) ON CONFLICT (dataset_id, fired_at) DO NOTHING",
        dataset=dataset,
        fired_at=fired_at,
        reason=reason,
    )


def skipped(reader: Reader, dataset: DatasetId, limit: int) -> list[SkippedFire]:
    """The last fires of a dataset that were skipped, newest first."""
    rows = reader.rows(
        "SELECT fired_at, reason FROM skipped_fires WHERE dataset_id = :dataset "
        "ORDER BY fired_at DESC LIMIT :limit",
        dataset=dataset,
        limit=limit,
    )
    return [SkippedFire(row[0], row[1]) for row in rows]


def skipping(
    reader: Reader,
    owner: OwnerName | None = None,
    those: Collection[DatasetId] | None = None,
) -> list[Skipping]:
    """The active datasets, of one owner or all, whose fires are skipped since their last Run.

    With `those`, of these alone.

    Of one that is skipped for another reason than credits the second fire in a row counts: one is
    skipped whenever a Run takes longer than the time between two.
    """
    if those is not None and not those:
        return []
    names, named = listed("dataset", those or ())
    of = _SKIPPED if those is None else f"SELECT id FROM datasets WHERE id IN ({names})"  # noqa: S608
    since = "FROM skipped_fires s WHERE s.dataset_id = d.id AND s.fired_at > d.last"
    rows = reader.rows(
        f"SELECT d.id, d.owner, d.name, (SELECT count(*) {since}), "  # noqa: S608  (our own words)
        f"(SELECT max(s.fired_at) {since}), "
        f"(SELECT s.reason {since} ORDER BY s.fired_at DESC LIMIT 1) FROM ("
        "SELECT a.id, a.owner, a.name, "
        "coalesce((SELECT max(queued_at) FROM runs r WHERE r.dataset_id = a.id), 0) AS last "
        f"FROM ({of}) k JOIN datasets a ON a.id = k.id "
        "WHERE a.status = 'active' AND a.owner = coalesce(:owner, a.owner)) d "
        "ORDER BY d.owner, d.name",
        owner=owner,
        **named,
    )
    skipped = [Skipping(*row) for row in rows if row[3]]
    return [each for each in skipped if each.count > 1 or each.reason == NO_CREDITS]
