"""The queue of Runs: who waits, who is taken, whose process was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from livedata.model.errors import LostLease, NotFound
from livedata.model.ids import DatasetId, Micros, RunId, new_id
from livedata.store import site_turns
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.statements import insert, listed
from livedata.store.runs import LockedRun, fenced, lock_run

# Four heartbeats: one or two may come late, since the store may be locked, before a Run is lost.
LEASE = 60_000_000
"""How long a start or a heartbeat keeps a Run, in microseconds."""

_ADD = insert(
    "runs",
    *("id", "dataset_id", "recipe_version", "site", "status", "attempt", "fence", "alone"),
    *("checks", "new_rows", "changed_rows", "gone_rows", "queued_at", "idempotency_hash", "fresh"),
    *("only_hosts", "owner"),
).replace(":owner", "(SELECT owner FROM datasets WHERE id = :dataset_id)")


BESIDE = 4
"""So many isolated Runs are told at a time beside the others that may start."""
WALKED = 200
"""So many of the Runs that wait longest are looked at for what may start."""
_WAITING = "r.id, r.dataset_id, d.name, r.alone"
_FIRST = site_turns.FIRST.format(site="q.site")
# Materialized: else PostgreSQL reads all Runs to join them with an expression.
_FIRSTS = "firsts JOIN runs r ON r.id = firsts.id JOIN datasets d ON d.id = r.dataset_id"
# How many were looked at is told with each, and in a line of its own if none may start.
_OLDEST = f"""
WITH oldest AS (
    SELECT site, queued_at, CASE WHEN alone THEN 1 ELSE 0 END AS alone FROM runs
    WHERE status = 'queued' AND site NOT IN (
        SELECT turn FROM runs WHERE status = 'running' AND turn IS NOT NULL) AND site NOT IN (:told)
    ORDER BY queued_at, id LIMIT {WALKED}
), sites AS (
    SELECT site, alone, since, row_number() OVER (PARTITION BY alone ORDER BY since, site) AS place
    FROM (SELECT site, min(alone) AS alone, min(queued_at) AS since FROM oldest GROUP BY site) AS o
), firsts AS MATERIALIZED (
    SELECT ({_FIRST}) AS id, since FROM sites q
    WHERE place <= CASE WHEN alone = 1 THEN {BESIDE} ELSE :limit END
)
SELECT {_WAITING}, r.site, counted.walked FROM (SELECT count(*) AS walked FROM oldest) AS counted
LEFT JOIN ({_FIRSTS}) ON 1 = 1 ORDER BY firsts.since, r.site
"""  # noqa: S608
_BESIDE = f"""
WITH firsts AS MATERIALIZED (
    SELECT ({_FIRST}) AS id FROM (SELECT site FROM runs WHERE id = :run) AS q
)
SELECT {_WAITING} FROM {_FIRSTS}
"""  # noqa: S608
_QUEUED = f"""
SELECT {_WAITING} FROM runs r JOIN datasets d ON d.id = r.dataset_id
WHERE r.id = :run AND r.status = 'queued'
"""  # noqa: S608


class Lease(Struct, frozen=True):
    """Who has a Run, and until when.

    `origin` is where the wall clock stood when the holder's own clock was 0, if that is known.
    """

    holder: str
    until: Micros
    origin: int | None


class OpenRun(Struct, frozen=True):
    """A Run that is queued or running, with the lease that somebody has on it.

    It is `cancelling` if whoever executes it is to end it.
    """

    id: RunId
    status: str
    attempt: int
    fence: int
    isolated: bool
    lease: Lease | None
    cancelling: bool
    queued: Micros
    started: Micros | None


class RunOptions(Struct, frozen=True):
    """How a Run is to be executed, whoever executes it.

    A `fresh` one takes no answer from before it; `only_hosts` are all that it may read (None: all
    that who executes it may).
    """

    fresh: bool = False
    only_hosts: frozenset[str] | None = None


class NewRun(Struct, frozen=True):
    """A Run that is to be queued, and the site that it waits for."""

    id: RunId
    dataset: DatasetId
    recipe_version: int
    site: str


class WaitingRun(Struct, frozen=True):
    """A Run that may be started; `isolated` if it fell with others: in a process of its own."""

    id: RunId
    dataset: DatasetId
    name: str
    isolated: bool


OPEN = """
r.id, r.status, r.attempt, r.fence, r.alone, r.lease_owner, r.lease_until, r.lease_origin,
r.cancel_asked_at, r.queued_at, r.started_at
"""
"""The columns of a Run `r` of which :func:`opened` makes an OpenRun."""
_OPEN_RUN = f"SELECT {OPEN} FROM runs r"  # noqa: S608  (our names)


def add(
    writer: Writer,
    dataset: DatasetId,
    recipe_version: int,
    site: str,
    now: Micros,
    idempotency_hash: bytes | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> RunId:
    """A new Run, queued; its id. Raises AlreadyThere if the dataset has an open one.

    Nobody is called to it: the caller executes it, or calls crawl workers too.
    """
    # Nobody asks first if it has: the partial unique index decides, also between two processes.
    run = NewRun(RunId(new_id()), dataset, recipe_version, site)
    add_each(writer, [run], now, idempotency_hash, options)
    return run.id


def add_each(
    writer: Writer,
    runs: Sequence[NewRun],
    now: Micros,
    idempotency_hash: bytes | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008  (it is frozen)
) -> None:
    """The same of Runs of several datasets."""
    hosts = None if options.only_hosts is None else ",".join(sorted(options.only_hosts))
    common = {
        "status": "queued",
        "attempt": 0,
        "fence": 0,
        "alone": False,
        "checks": "[]",
        "new_rows": 0,
        "changed_rows": 0,
        "gone_rows": 0,
        "queued_at": now,
        "idempotency_hash": idempotency_hash,
        "fresh": options.fresh,
        "only_hosts": hosts,
    }
    writer.many(
        _ADD,
        [
            {
                **common,
                "id": run.id,
                "dataset_id": run.dataset,
                "recipe_version": run.recipe_version,
                "site": run.site,
            }
            for run in runs
        ],
    )


def make_fresh(writer: Writer, run: RunId) -> None:
    """Let each attempt at an open Run that begins from now on be fresh."""
    writer.execute(
        "UPDATE runs SET fresh = :fresh WHERE id = :run AND status IN ('queued', 'running')",
        fresh=True,
        run=run,
    )


def is_fresh(reader: Reader, run: RunId) -> bool:
    """Whether a Run takes no answer from before it."""
    return bool(reader.value("SELECT fresh FROM runs WHERE id = :run", run=run))


def asked_for(
    reader: Reader, dataset: DatasetId, idempotency_hash: bytes, since: Micros
) -> RunId | None:
    """The Run that an idempotency key asked for at `since` or later."""
    # Without an index of its own: the Runs of a dataset since yesterday are few.
    run: RunId | None = reader.value(
        "SELECT id FROM runs WHERE dataset_id = :dataset AND queued_at >= :since "
        "AND idempotency_hash = :hash ORDER BY queued_at LIMIT 1",
        dataset=dataset,
        since=since,
        hash=idempotency_hash,
    )
    return run


def put(writer: Writer, run: RunId, *, fence: int, attempt: int, isolated: bool = False) -> None:
    """Put a running Run back into the queue, and call crawl workers.

    `attempt` is how many attempts it has used. Raises LostLease if the fence is not the one any
    more that the caller saw.
    """
    # The caller may have seen a lost Run that somebody else has started again since: the fence
    # tells. Once a Run is to run isolated it stays so (`alone OR`): it may have felled the others.
    changed = writer.written(
        "UPDATE runs SET status = 'queued', attempt = :attempt, alone = (alone OR :isolated), "
        "lease_owner = NULL, lease_until = NULL, lease_origin = NULL "
        "WHERE id = :run AND fence = :fence AND status = 'running'",
        run=run,
        fence=fence,
        attempt=attempt,
        isolated=isolated,
    )
    if not changed:
        raise LostLease
    # It waits for its own site; its pages may have led it to another one, which is free now.
    call(writer)


def hold(writer: Writer, run: RunId, fence: int) -> LockedRun:
    """Lock a running Run. Raises LostLease if another attempt has it, or it is gone."""
    try:
        locked = lock_run(writer, run)
    except NotFound:
        raise LostLease from None
    check_held(locked, fence)
    return locked


def check_held(run: LockedRun, fence: int) -> None:
    """Raise LostLease if another attempt has a Run that is locked."""
    if (run.status, run.fence) != ("running", fence):
        raise LostLease


def call(writer: Writer) -> None:
    """Call crawl workers to what is queued, once this transaction is written."""
    # However many Runs it queues: whoever comes takes as many as it has room for, and others come
    # too.
    writer.call()


def call_next(writer: Writer, turn: str | None) -> None:
    """The same if a Run waits for a site whose turn this transaction gives up."""
    if turn is not None:
        writer.call_next(turn)


def move_turn(writer: Writer, run: RunId, fence: int, site: str | None) -> None:
    """Give up the turn of a running Run for that of `site`, if one is named.

    Raises AlreadyThere if another Run has it, LostLease.
    """
    before = turn(writer, run)
    fenced(writer, run, fence, turn=site)
    if before != site:
        call_next(writer, before)


def turn(reader: Reader, run: RunId) -> str | None:
    """The site that a running Run may ask."""
    site: str | None = reader.value("SELECT turn FROM runs WHERE id = :run", run=run)
    return site


def site(reader: Reader, run: RunId) -> str:
    """The site of a Run: where it waits for its turn before it begins."""
    own: str = reader.value("SELECT site FROM runs WHERE id = :run", run=run)
    return own


def is_busy(reader: Reader, site: str) -> bool:
    """Whether a Run in progress has the turn of a site."""
    has = "SELECT 1 FROM runs WHERE status = 'running' AND turn = :site"
    return reader.value(has, site=site) is not None


def open_run(reader: Reader, dataset: DatasetId) -> OpenRun | None:
    """The Run of a dataset that is queued or running."""
    # One at most, by the partial unique index over the dataset of open Runs.
    row = reader.row(
        f"{_OPEN_RUN} WHERE dataset_id = :dataset AND status IN ('queued', 'running')",
        dataset=dataset,
    )
    return None if row is None else opened(row)


def open_by_id(reader: Reader, run: RunId) -> OpenRun | None:
    """A Run if it is queued or running."""
    row = reader.row(f"{_OPEN_RUN} WHERE id = :run AND status IN ('queued', 'running')", run=run)
    return None if row is None else opened(row)


def ask_running(reader: Reader) -> Callable[[], list[OpenRun]]:
    """Every Run that is running, asked together with the next question."""
    answer = reader.ask(f"{_OPEN_RUN} WHERE status = 'running'")
    return lambda: [opened(row) for row in answer()]


def waiting_since(reader: Reader) -> tuple[int, Micros | None]:
    """How many Runs are queued, and since when the longest of them waits."""
    row = reader.row("SELECT count(*), min(queued_at) FROM runs WHERE status = 'queued'")
    assert row is not None
    return row[0], row[1]


def waiting(reader: Reader, limit: int) -> list[WaitingRun]:
    """The Runs that may start now, one per free site: those of the longest waiting first.

    Isolated ones, which start in a process of their own, come beside the `limit`, a few at most.
    """
    # One per site, because a second would only fail at the turn. Those that wait for a process of
    # their own must not stand in the way of all others.
    together: list[WaitingRun] = []
    apart: list[WaitingRun] = []
    told, walked = [""], WALKED
    # Once, nearly always: again only if very many of the oldest wait for few sites.
    while walked == WALKED and len(together) < limit:
        names, named = listed("site", told)
        rows = reader.rows(_OLDEST.replace(":told", names), limit=limit, **named)
        walked = rows[0][-1]
        for *row, site, _ in rows:
            if site is not None:
                waits = _waiting(row)
                told.append(site)
                (apart if waits.isolated else together).append(waits)
    return [*apart[:BESIDE], *together[:limit]]


def next_beside(reader: Reader, run: RunId) -> WaitingRun | None:
    """The Run that is next at the site of a Run; None if none waits there."""
    row = reader.row(_BESIDE, run=run)
    return None if row is None else _waiting(row)


def longest_waiting(reader: Reader) -> WaitingRun | None:
    """The Run that is next at the site where one waits longest, whether that is free or not."""
    run = reader.value("SELECT id FROM runs WHERE status = 'queued' ORDER BY queued_at, id LIMIT 1")
    return None if run is None else next_beside(reader, run)


def queued(reader: Reader, run: RunId) -> WaitingRun | None:
    """A Run if it waits."""
    row = reader.row(_QUEUED, run=run)
    return None if row is None else _waiting(row)


def _waiting(row: Sequence[Any]) -> WaitingRun:
    run, dataset, name, alone = row
    return WaitingRun(run, dataset, name, bool(alone))


def opened(row: Sequence[Any]) -> OpenRun:
    """A Run that is open, by its columns."""
    run, status, attempt, fence, alone, holder, until, origin, asked, *times = row
    lease = None if holder is None or until is None else Lease(holder, until, origin)
    return OpenRun(run, status, attempt, fence, bool(alone), lease, asked is not None, *times)
