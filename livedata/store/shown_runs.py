"""Runs as a person is shown them: the whole row of one, how far it has come, those before it."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from livedata.model.dataset import RunStatus
from livedata.model.diagnosis.recorded_run import RunFacts
from livedata.model.ids import (
    AttemptId,
    DatasetId,
    Micros,
    OwnerName,
    RunId,
    format_timestamp,
    format_uuid,
    raw_id,
)
from livedata.model.problem import Problem
from livedata.model.run import RowDeltas, Run
from livedata.store import runs
from livedata.store.database.backend import Reader, Writer
from livedata.store.database.codec import FACTS, PROBLEM, STOP, unpacked

_WHOLE = (
    f"SELECT {runs.RUN}, r.recipe_version, r.stop, r.problem, r.facts {runs.OF_OWNER} r.id = :id"
)
_LATEST = Micros(2**63 - 1), "ffffffff-ffff-ffff-ffff-ffffffffffff"
"""No Run is queued after this moment, or has a later id."""
# A row that is back counts as changed in its Run, and yet there is one more after it. A held Run
# that was accepted by hand completed then; what it took are its attempts.
_EARLIER = """
SELECT r.id, r.status, coalesce(r.completed_at, r.queued_at), r.new_rows - r.gone_rows + (
    SELECT count(*) FROM revisions v WHERE v.run_id = r.id AND v.kind = 'returned'),
    r.new_rows, r.changed_rows, r.gone_rows,
    CASE WHEN r.started_at IS NOT NULL AND r.completed_at IS NOT NULL THEN
        coalesce((SELECT a.ended_at FROM attempts a WHERE a.run_id = r.id
            ORDER BY a.number DESC LIMIT 1), r.completed_at)
        - coalesce((SELECT min(a.started_at) FROM attempts a WHERE a.run_id = r.id), r.started_at)
    END
FROM runs r WHERE r.dataset_id = :dataset AND (r.queued_at, r.id) < (:moment, :last)
ORDER BY r.queued_at DESC, r.id DESC LIMIT :limit
"""
# The rows that there are now, without what the Runs since then have added.
# Cast, because PostgreSQL sums 64-bit integers to a numeric, which arrives as a Decimal.
_ROWS_THEN = """
SELECT CAST(d.row_count - coalesce(sum(r.new_rows - r.gone_rows + (
    SELECT count(*) FROM revisions v WHERE v.run_id = r.id AND v.kind = 'returned')), 0) AS BIGINT)
FROM datasets d LEFT JOIN runs r
ON r.dataset_id = d.id AND (r.queued_at, r.id) >= (:moment, :last)
WHERE d.id = :dataset GROUP BY d.row_count
"""


_BESIDE = {
    "earlier": "SELECT id FROM runs WHERE dataset_id = :dataset AND (queued_at, id) < "
    "(:moment, :run) ORDER BY queued_at DESC, id DESC LIMIT 1",
    "later": "SELECT id FROM runs WHERE dataset_id = :dataset AND (queued_at, id) > "
    "(:moment, :run) ORDER BY queued_at, id LIMIT 1",
}
_MAY_BE_LAST = "r.status IN ('failed', 'blocked', 'held') AND r.followed IS NULL"
REFUSED = f"""
{_MAY_BE_LAST} AND r.id = (
    SELECT l.id FROM runs l WHERE l.dataset_id = r.dataset_id
    AND l.status NOT IN ('queued', 'running') ORDER BY l.queued_at DESC, l.id DESC LIMIT 1)
"""  # noqa: S608  (our own words)
"""Whether a Run r was not accepted, and is the last of its dataset that is over.

Few may be: those that are known to be followed are in no index. SQLite begins with these Runs only
before a CROSS JOIN, which keeps its order.
"""
_NOT_ACCEPTED = f"""
SELECT d.id, d.name, r.id, r.status, coalesce(r.completed_at, r.queued_at), r.error, (
    SELECT CASE WHEN n.status IN ('queued', 'running') THEN n.id END FROM runs n
    WHERE n.dataset_id = d.id ORDER BY n.queued_at DESC, n.id DESC LIMIT 1)
FROM runs r CROSS JOIN datasets d WHERE d.id = r.dataset_id AND d.owner = :owner AND {REFUSED}
"""  # noqa: S608  (the same)
_FOLLOWED = f"""
SELECT r.id FROM runs r WHERE {_MAY_BE_LAST} AND EXISTS (
    SELECT 1 FROM runs l WHERE l.dataset_id = r.dataset_id
    AND (l.queued_at, l.id) > (r.queued_at, r.id) AND l.status NOT IN ('queued', 'running'))
LIMIT :limit
"""  # noqa: S608  (the same)


class NotAccepted(Struct, frozen=True):
    """A Run of a dataset whose output was not accepted: how it ended, when, and why in words.

    `newer` is the Run that is queued or running since then, if there is one.
    """

    name: str
    run: str
    status: RunStatus
    at: Micros
    error: str | None
    newer: bytes | None


class WholeRun(Struct, frozen=True):
    """A Run with what it keeps for later; what is of JSON is read when it is asked for."""

    run: Run
    queued: Micros
    started: Micros | None
    completed: Micros | None
    recipe_version: int
    _stop: str | None
    _problem: str | None
    _facts: str | None

    def stop(self) -> dict[str, Any]:
        """Which rule ended it, and what that was applied to; empty while it is open."""
        return STOP.load(self._stop) if self._stop else {}

    def facts(self) -> RunFacts:
        """What it found out; empty while it is open, and once that is let go of."""
        return FACTS.load(unpacked(self._facts)) if self._facts else {}

    def problem(self) -> Problem | None:
        """What went wrong; None also for Runs of versions that kept only the sentence."""
        return None if self._problem is None else PROBLEM.load(self._problem)


def whole_run(reader: Reader, owner: OwnerName, run: RunId) -> WholeRun:
    """A Run of an owner. Raises NotFound."""
    row = reader.row(_WHOLE, owner=owner, id=run)
    if row is None:
        raise runs.not_found()
    queued, started, completed = row[8:11]
    return WholeRun(runs.as_run(row), queued, started, completed, *row[11:])


class Progress(Struct, frozen=True):
    """The pages that an attempt has read so far, and the items on them."""

    pages: int
    items: int


def note_progress(writer: Writer, attempt: AttemptId, fence: int, progress: Progress) -> None:
    """Note how far an attempt has come, if it still holds its Run."""
    writer.execute(
        "UPDATE attempts SET pages_read = :pages, items_read = :items WHERE id = :attempt AND "
        "EXISTS (SELECT 1 FROM runs WHERE id = attempts.run_id AND fence = :fence "
        "AND status = 'running')",
        attempt=attempt,
        fence=fence,
        pages=progress.pages,
        items=progress.items,
    )


def progress_so_far(reader: Reader, run: RunId) -> Progress | None:
    """How far the last attempt at a Run has come; None if it has noted nothing."""
    row = reader.row(
        "SELECT pages_read, items_read FROM attempts WHERE run_id = :run "
        "ORDER BY number DESC LIMIT 1",
        run=run,
    )
    return None if row is None or row[0] is None else Progress(*row)


class RunEnd(Struct, frozen=True):
    """How a Run ended, and when; while it is open, when it was queued.

    `deltas` is how many rows it made, changed and found gone, `changes` how many these are, `back`
    how many of the changed ones had been gone, and `rows` how many there were after it; None if it
    was not accepted. `seconds` is how long it took; None if it did not begin or end.
    """

    run: str
    status: RunStatus
    at: str
    deltas: RowDeltas
    changes: int
    back: int
    rows: int | None
    seconds: float | None


def not_accepted(
    reader: Reader, owner: OwnerName, dataset: DatasetId | None = None
) -> dict[DatasetId, NotAccepted]:
    """The datasets of an owner whose last Run that is over was not accepted, each with that Run.

    With a `dataset`, that one alone.
    """
    if dataset is None:
        rows = reader.rows(_NOT_ACCEPTED, owner=owner)
    else:
        rows = reader.rows(
            f"{_NOT_ACCEPTED} AND r.dataset_id = :dataset", owner=owner, dataset=dataset
        )
    return {
        dataset: NotAccepted(name, format_uuid(run), *ended) for dataset, name, run, *ended in rows
    }


def note_followed(writer: Writer, limit: int) -> int:
    """Note of Runs that were not accepted that another of their dataset has ended since.

    Of `limit` at most; how many that was.
    """
    # Later and not when a Run ends: then each would look for the one before it.
    followed = writer.all_locked_if_free(_FOLLOWED, limit=limit)
    writer.many(
        "UPDATE runs SET followed = TRUE WHERE id = :run", [{"run": run} for (run,) in followed]
    )
    return len(followed)


def ahead(
    reader: Reader, dataset: DatasetId, first: tuple[Micros, str], count: int
) -> tuple[Micros, str] | None:
    """(queuedAt, id) of the Run that was queued so many after one; None if so many were not."""
    row = reader.row(
        "SELECT queued_at, id FROM runs WHERE dataset_id = :dataset "
        "AND (queued_at, id) > (:moment, :first) ORDER BY queued_at, id LIMIT 1 OFFSET :ahead",
        dataset=dataset,
        moment=first[0],
        first=raw_id(first[1]),
        ahead=count - 1,
    )
    return None if row is None else (row[0], format_uuid(row[1]))


def beside(reader: Reader, dataset: DatasetId, run: WholeRun) -> dict[str, str | None]:
    """The ids of the Runs of a dataset that were queued just before and just after one."""
    place = {"dataset": dataset, "moment": run.queued, "run": raw_id(run.run["id"])}
    runs = {name: reader.value(query, **place) for name, query in _BESIDE.items()}
    return {name: None if key is None else format_uuid(key) for name, key in runs.items()}


def in_the_way(reader: Reader, owner: OwnerName, run: RunId) -> str | None:
    """The id of the Run for whose turn a queued one waits, if it is of the owner."""
    holder = reader.value(
        "SELECT r.id FROM runs w JOIN runs r ON r.turn = w.site AND r.status = 'running' "
        "JOIN datasets d ON d.id = r.dataset_id "
        "WHERE w.id = :run AND w.status = 'queued' AND d.owner = :owner",
        run=run,
        owner=owner,
    )
    return None if holder is None else format_uuid(holder)


def earlier_runs(
    reader: Reader, dataset: DatasetId, limit: int, before: tuple[Micros, str] | None = None
) -> list[RunEnd]:
    """The Runs before (queuedAt, id) of one, newest first; without it, the newest."""
    moment, last = before or _LATEST
    place = {"dataset": dataset, "moment": moment, "last": raw_id(last)}
    rows = reader.value(_ROWS_THEN, **place)
    ends = []
    for run, status, ended, added, *changed, took in reader.rows(_EARLIER, **place, limit=limit):
        left = rows if status == "succeeded" else None
        # No less than nothing, whatever the clock did meanwhile.
        seconds = None if took is None else max(0, took) / 1_000_000
        new, other, gone = changed
        deltas: RowDeltas = {"new": new, "changed": other, "gone": gone}
        told = (format_uuid(run), status, format_timestamp(ended), deltas, sum(changed))
        ends.append(RunEnd(*told, added - new + gone, left, seconds))
        rows -= added
    return ends


def waiting_longer(reader: Reader, run: RunId) -> int:
    """How many Runs of the site of a Run that is queued were queued before it, and still are."""
    number: int = reader.value(
        "SELECT count(*) FROM runs r JOIN runs w ON w.site = r.site "
        "AND (w.queued_at, w.id) < (r.queued_at, r.id) WHERE r.id = :run AND w.status = 'queued'",
        run=run,
    )
    return number
